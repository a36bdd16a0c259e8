#pragma once

#include <optional>
#include <string>
#include <variant>

#include "core/document/lock_readers.hpp"
#include "core/pending_commands.hpp"
#include "core/queue/queue_place.hpp"

namespace leasehold::core {

/// One acquire call that has not won yet: the value that the parts of the core pass on. Contenders
/// has it until it wins or ends; then a HeldLock or a Departure is made of it. Data that is valid
/// in one phase only is a member of that phase.
struct AcquireCall {
  /// Behind others of this process: it sends nothing.
  struct Queued {
  };
  /// Between two attempts, or before its first, which waits for a free slot.
  /// INVARIANT: its attempt timer is set for `attempt_at`; or it is in the line for a slot, due
  /// since `attempt_at`; or its time is over, and its give_up timer late.
  struct Waiting {
    LocalInstant attempt_at;  ///< when the next attempt is due
  };
  /// An attempt is under way, or was answered in this very step of the core.
  struct Attempting {
    CommandId command = 0;  ///< 0: it was answered, and what follows is being decided
  };
  /// Gets the lock from a handle of this process, by this hand-over.
  struct Receiving {
    DepartureId hand_over = 0;
  };

  std::string name;
  LockOptions options;
  std::optional<LocalInstant> give_up_at;  ///< none: it waits for ever
  bool single_attempt = false;  ///< past the queue of its process; Waiting only for a slot
  Room room = 0;                ///< with whom it shares the lock
  SessionId downgraded = 0;     ///< not 0: the only one that it may get the lock from
  Owner owner;  ///< dead, hence replaced, from the moment a delete of it is sent
  std::variant<Queued, Waiting, Attempting, Receiving> phase;

  LocalInstant contends_since;  ///< when it became the head of its queue
  Duration last_pause{0};       ///< zero before its first
  int attempts = 0;
  int unanswered = 0;     ///< attempts of this owner with an unknown outcome
  bool late_win = false;  ///< its owner has the document, but the win came too late to be used
  int hand_overs = 0;     ///< in a row up to this call
  bool corruption_reported = false;  ///< once a call, not once an attempt
  Error last_failure;                ///< what its end adds to its own reason

  /// Its attempts leave an entry in the lock's queue if they are refused. An attempt at a lock that
  /// nobody else was seen to want does not: without contention a queue costs not a byte.
  bool enlists = false;
  QueuePlace place;  ///< in the lock's queue, if its strategy queues

  /// What the caller gets that ends for this reason; the last failure says more.
  [[nodiscard]] Error error(ErrorKind kind, const std::string& why) const;
  /// What a downgrade gets whose lock had been lost.
  [[nodiscard]] Error not_held() const {
    return {ErrorKind::unavailable, 0, "lock '" + name + "' was not held, so not downgraded"};
  }

  /// What its attempt with this beat writes if it wins.
  [[nodiscard]] std::string lock_id(std::uint64_t beat, const std::string& holder) const {
    return written_lock_id(owner, options.expiry, beat, holder, room);
  }

  /// Whether a document of its owner may be there, now or by a late command.
  [[nodiscard]] bool may_own() const { return unanswered > 0 || late_win; }

  /// Whether it enlists once it is refused.
  [[nodiscard]] bool queues() const { return !single_attempt && core::queues(options); }
  /// Whether it acts on events of a change stream. Calls that wait behind others of this process do
  /// not, nor do single attempts, which are in no queue.
  [[nodiscard]] bool listens() const;
  /// Whether it may receive the lock from a handle of this process: it waits for its turn. A call
  /// with an attempt under way cannot: the attempt gets the lock or is refused.
  [[nodiscard]] bool can_receive() const { return in<Queued>() || in<Waiting>(); }
  /// Whether its timeout is over. The timer that asks may be early, or of a call before.
  [[nodiscard]] bool times_out(LocalInstant now) const { return give_up_at && now >= *give_up_at; }

  /// This attempt of it, or this hand-over to it, is over; what follows is being decided.
  void settle(const PendingCommand& command);

  /// Null: it is in another phase.
  template <typename Phase>
  [[nodiscard]] const Phase* in() const {
    return std::get_if<Phase>(&phase);
  }
};

}  // namespace leasehold::core
