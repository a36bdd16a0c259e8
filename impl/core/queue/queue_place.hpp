#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.hpp"

namespace leasehold::core {

/// Whether calls with these options queue.
[[nodiscard]] inline bool queues(const LockOptions& options) {
  return options.waiting->renewal(Duration(0)).has_value();
}

/// What an acquire call knows of its place in the lock's queue between processes.
///
/// Each attempt of it that is refused renews its entry there, and writes the beat of the attempt
/// into it. A release that passes the lock on copies that beat: so a grant names the very attempt
/// before which no process can have seen it, and the lease counts from the sending of that attempt.
///
/// INVARIANT: what is remembered of attempts is in the order of their sending. `full_` is set only
/// while it has no place, because a call with a place does not need the queue's length.
class QueuePlace {
 public:
  /// An attempt that may leave an entry is sent.
  void sent(std::uint64_t beat, LocalInstant now);
  /// When the attempt of this beat was sent; none: it is not remembered.
  [[nodiscard]] std::optional<LocalInstant> sent_at(std::uint64_t beat) const;

  /// What a refused attempt was answered. REQUIRES: it has the document.
  void shown(const Reply& refusal, Owner owner, LocalInstant now);
  /// When it last had a place; none: it never did. A primary that knows only what was before
  /// cannot tell whether its entry has gone.
  [[nodiscard]] FencingToken stood_at() const { return stood_at_; }
  /// The same, as a majority has it. The time of an old primary may be above that of a grant.
  [[nodiscard]] FencingToken confirmed_at() const { return confirmed_at_; }
  /// Whether it had a place when it last looked.
  [[nodiscard]] bool stands() const { return before_.has_value(); }
  /// Since when it has had a place each time that it looked; now: it has none.
  [[nodiscard]] LocalInstant stands_since(LocalInstant now) const {
    return stands() ? stands_since_ : now;
  }
  /// For how long the stream may stay unread that notifies it; 0: it is read without a pause. Each
  /// write of anybody wakes each stream that is read, at the cost of some 0.1 ms of the server's
  /// CPU. So a call that has been the first for long, whose holder therefore has a long job, only
  /// looks now and then: by that the lock stays idle for some 3 % of the job, and 0.4 s at most, on
  /// average.
  [[nodiscard]] Duration unread_for(LocalInstant now) const;

  /// The queue had no room for it when it last looked: how long until it has, as estimated then; 0:
  /// no estimate. None: it has a place, or there was room.
  [[nodiscard]] std::optional<Duration> room_in() const {
    return full_ ? std::optional(full_->room_in) : std::nullopt;
  }
  /// How long those in the queue then take to be served, as far as it has seen them move; 0: it
  /// has not.
  [[nodiscard]] Duration full_queue_lasts() const { return full_ ? full_->lasts : Duration(0); }
  /// Its number among the calls that found no room; none: it has to take one.
  [[nodiscard]] std::optional<std::int64_t> ticket() const { return ticket_; }

  /// It is notified of its turn: its attempts only renew its entry.
  bool awaits_news = false;
  /// Events of the stream that came during an attempt; they count once it is answered.
  std::optional<NamedOwner> news;
  std::string named;  ///< the lockId of the last event

 private:
  struct Attempt {
    std::uint64_t beat = 0;
    LocalInstant sent;
  };
  struct Full {
    std::int64_t gone = 0;  ///< how many had left the queue, from some beginning on
    LocalInstant seen;      ///< when that many had
    Duration turn{0};       ///< from one that leaves it to the next; 0: unknown
    Duration lasts{0}, room_in{0};
  };
  /// It has no place among so many.
  void see_full(const std::string& queue, std::int64_t places, LocalInstant now);

  std::vector<Attempt> attempts_;  ///< the latest, in their order
  std::optional<std::size_t> before_;
  LocalInstant stands_since_, first_since_;  ///< whenever it looked
  std::optional<Full> full_;
  std::optional<std::int64_t> ticket_;
  FencingToken stood_at_, confirmed_at_;
};

}  // namespace leasehold::core
