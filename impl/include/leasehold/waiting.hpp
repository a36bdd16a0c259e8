#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

namespace leasehold {

/// What the last attempt of a waiting acquire learned.
struct AttemptSeen {
  int attempts = 0;      ///< attempts of this acquire call so far, at least 1
  bool refused = false;  ///< another holds the lock (otherwise no server answered)
};

/// How long a waiting acquire pauses between two attempts.
///
/// A strategy is pure: its randomness comes in, it keeps no state, so one object may serve every
/// lock of a process and the same code runs in production and in simulation.
/// Thread safety: `pause` is called from any thread and must not block.
class WaitingStrategy {
 public:
  virtual ~WaitingStrategy() = default;

  /// The pause before the next attempt; `random` is uniform over all 64-bit values.
  [[nodiscard]] virtual std::chrono::nanoseconds pause(const AttemptSeen& seen,
                                                       std::uint64_t random) const = 0;

  /// No pause is longer than this; bounds of guarantees are computed from it.
  [[nodiscard]] virtual std::chrono::nanoseconds longest_pause() const = 0;
};

/// A random pause in [min, max], each equally likely: the waiting of DistributedLock.MongoDB, where
/// it is called BusyWaitSleepTime and defaults to 10..800 ms.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> uniform_waiting(
    std::chrono::milliseconds min = std::chrono::milliseconds(10),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

}  // namespace leasehold
