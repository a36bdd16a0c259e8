#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/protocol.hpp"

namespace leasehold::core {

/// Whether calls with these options stand in the lock's queue.
[[nodiscard]] inline bool queues(const LockOptions& options) {
  return options.waiting->renewal(Duration(0)).has_value();
}

/// What an acquire call knows of its place in the lock's queue between processes.
///
/// Each attempt of it that is refused renews its entry there, and writes the beat of the attempt
/// into it. Who passes the lock on copies that beat: so a grant names the very attempt before which
/// nobody can have seen it, and the lease counts from when that was sent.
class QueuePlace {
 public:
  /// An attempt that may leave an entry is sent.
  void sent(std::uint64_t beat, LocalInstant now);
  /// When the attempt of this beat was sent; none: nobody remembers.
  [[nodiscard]] std::optional<LocalInstant> sent_at(std::uint64_t beat) const;

  /// A refused attempt showed this queue, at this operation time.
  void shown(const LockDocument& document, Owner owner, FencingToken at);
  /// When it last stood there; none: it never did. A primary that knows only what was before
  /// cannot tell whether its entry has gone.
  [[nodiscard]] FencingToken stood_at() const { return stood_at_; }
  /// Whether it stood there when it last looked.
  [[nodiscard]] bool stands() const { return before_.has_value(); }
  /// How many stood before it then. REQUIRES: it stands
  [[nodiscard]] std::size_t before() const { return *before_; }

  /// It hears when its turn has come: its attempts only renew its entry.
  bool awaits_news = false;
  /// News of the stream that came during an attempt; they count once it is answered.
  std::optional<NamedOwner> news;

  bool operator==(const QueuePlace&) const = default;

 private:
  struct Attempt {
    std::uint64_t beat = 0;
    LocalInstant sent;
    bool operator==(const Attempt&) const = default;
  };
  std::vector<Attempt> attempts_;  ///< the latest, in their order
  std::optional<std::size_t> before_;
  FencingToken stood_at_;
};

}  // namespace leasehold::core
