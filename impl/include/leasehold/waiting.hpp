#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace leasehold {

/// What a waiting acquire has learned so far.
struct AttemptSeen {
  int attempts = 0;      ///< attempts of this acquire call so far, at least 1
  bool refused = false;  ///< another holds the lock (otherwise no server answered)
  /// How long this call has contended for the lock at the server.
  std::chrono::nanoseconds waited{0};
  /// How long the last winners of this provider contended for this lock, on average. Kept only for
  /// strategies that learn.
  std::optional<std::chrono::nanoseconds> typical_wait;
  std::chrono::nanoseconds last_pause{0};  ///< of this call; zero before the first
};

/// How long a waiting acquire pauses between two attempts.
///
/// A strategy is pure: its randomness comes in, it keeps no state, so one object may serve every
/// lock of a process and the same code runs in production and in simulation. Waiters of one process
/// queue: only the first in the queue makes attempts, and asks its strategy.
/// Thread safety: all calls from any thread; they must not block.
///
///     options.waiting = leasehold::adaptive_waiting();
class WaitingStrategy {
 public:
  virtual ~WaitingStrategy() = default;

  /// The pause before the next attempt; `random` is uniform over all 64-bit values.
  [[nodiscard]] virtual std::chrono::nanoseconds pause(const AttemptSeen& seen,
                                                       std::uint64_t random) const = 0;

  /// No pause is longer than this; bounds of guarantees are computed from it.
  [[nodiscard]] virtual std::chrono::nanoseconds longest_pause() const = 0;

  /// Whether it looks at `typical_wait`.
  [[nodiscard]] virtual bool learns() const { return false; }
};

/// The same pause each time. Waiters that began together stay together: for comparison only.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> fixed_waiting(std::chrono::milliseconds pause);

/// A random pause in [min, max], each equally likely: the waiting of DistributedLock.MongoDB, where
/// it is called BusyWaitSleepTime and defaults to 10..800 ms.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> uniform_waiting(
    std::chrono::milliseconds min = std::chrono::milliseconds(10),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

/// How an exponential backoff spreads its pauses.
enum class Jitter {
  full,          ///< uniform in [0, min(max, base * 2^(attempts - 1))]
  decorrelated,  ///< uniform in [base, 3 * the pause before], at most max
};

/// Pauses that grow with every refusal, from `base` to `max`. Kind to the server, unfair to who has
/// waited long: newcomers ask more often than they.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> exponential_waiting(
    Jitter jitter, std::chrono::milliseconds base = std::chrono::milliseconds(10),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

/// Pauses in proportion to what a wait for this lock usually takes: about four attempts in that
/// time, fewer at its beginning and more past its end. In [min, max].
///
/// Why the load is bounded: N processes that contend wait about N hand-overs each, so four attempts
/// a wait are four attempts a hand-over, however many contend; nobody has to know N.
/// Why it is stable: with H the time from one hand-over to the next without idle time, waits are
/// W = N * H + (idle time), and the idle time is W/4 shared by N waiters, N times: W' = N * H +
/// W/4. That is a contraction by four to W = 4/3 * N * H, from any beginning; a quarter of the time
/// at most is idle. While no wait has ended yet, or the present one is much longer than usual,
/// pauses grow with it.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> adaptive_waiting(
    std::chrono::milliseconds min = std::chrono::milliseconds(2),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

}  // namespace leasehold
