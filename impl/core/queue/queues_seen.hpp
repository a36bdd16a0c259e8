#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/bounded_map.hpp"
#include "core/limits.hpp"
#include "core/protocol.hpp"

namespace leasehold::core {

/// What a provider has seen of the queues of locks: where calls waited lately, and which owners of
/// its ended calls an entry may still grant the lock to.
///
/// INVARIANT: at most kMaxSights names and as many owners; what is oldest makes room.
class QueuesSeen {
 public:
  /// A document of this name was shown, with or without a queue.
  void see(const std::string& name, const LockDocument& document, LocalInstant now);
  /// Whether calls waited for this lock lately: its release then passes it on at once. Otherwise it
  /// tries to delete the document first.
  [[nodiscard]] bool anyone_waited(const std::string& name, LocalInstant now) const;

  /// An owner that may be granted the lock yet, by an entry or a command that was not answered.
  struct Departed {
    std::string name;
    std::chrono::milliseconds timeout;
    Duration expiry;
    FencingToken granted_at = {};  ///< the newest grant that is known of
  };
  /// Kept until it has to make room: it is unknown how long requests may be on their way.
  void leave_behind(Owner owner, Departed departed);
  /// The owner was granted the lock at this time: what is kept of it, once for each grant. Several
  /// late attempts of one owner may be granted it one after the other.
  [[nodiscard]] std::optional<Departed> granted(Owner owner, FencingToken at);

 private:
  BoundedMap<std::string, LocalInstant, kMaxSights> waited_;  ///< when a call was last seen waiting
  BoundedMap<Owner, Departed, kMaxSights> departed_;
};

}  // namespace leasehold::core
