#pragma once

#include <chrono>
#include <optional>

#include "core/protocol.hpp"

namespace leasehold::core {

/// The holder of a lock that was taken by force, until it is freed.
inline constexpr const char* kForcedHolder = "leasehold release --force";

/// How an administrator frees a lock whose holder may be alive, in three steps: send `take`; if it
/// was taken, wait; send `free`. The calls in the lock's queue go on waiting.
///
/// INVARIANT: `held()` of the old holder is false by the time `free` is sent, by whatever clocks
/// that run within the largest `max_drift` that a holder may have.
struct ForcedRelease {
  AcquireCommand take;             ///< in the holder's place, if the lock is still as it was seen
  std::chrono::milliseconds wait;  ///< on the administrator's clock, from the answer to `take`
  PassOnCommand free;              ///< offers it to the first call in the queue

  enum class Taken {
    yes,
    unconfirmed,  ///< perhaps; no majority says so, and the lock frees itself
    no            ///< it was extended or changed hands
  };
  [[nodiscard]] Taken taken(const Reply& reply) const;
  /// Whether the reply to `free` says that the lock has left the administrator.
  [[nodiscard]] bool freed(const Reply& reply) const;
};

/// `seen`: with its dates. `fresh`: an owner that no call had. Nothing: when the holder must have
/// noticed is not known, because the document is corrupt, or other software's and dated for more
/// than a day.
[[nodiscard]] std::optional<ForcedRelease> forced_release(const LockDocument& seen, Owner fresh);

}  // namespace leasehold::core
