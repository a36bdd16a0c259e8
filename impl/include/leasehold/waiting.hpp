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
  /// Of this lock, what the strategy had the provider keep last.
  std::optional<std::chrono::nanoseconds> pace;
  std::chrono::nanoseconds last_pause{0};  ///< of this call; zero before the first
  /// Whether a change stream is open that tells of each release (see `wants_stream`).
  bool told = false;
  int releases = 0;    ///< of this lock since this call was refused first, as that stream reports
  bool woken = false;  ///< the last attempt was made because of that stream
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

  /// What a provider keeps for a lock on behalf of a strategy that learns, after an attempt that
  /// won or was refused; none: still nothing.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> next_pace(
      const AttemptSeen& /*seen*/, bool /*won*/) const {
    return std::nullopt;
  }

  /// Whether the provider is to have a change stream on its collection while calls with this
  /// strategy wait.
  [[nodiscard]] virtual bool wants_stream() const { return false; }

  /// How long to leave a lock to others when the stream has reported its release. An attempt is
  /// made after that, unless further news put it off; never later than `pause` said.
  [[nodiscard]] virtual std::chrono::nanoseconds turn(const AttemptSeen& /*seen*/,
                                                      std::uint64_t /*random*/) const {
    return std::chrono::nanoseconds(0);
  }
};

/// A span given to the functions below counts as 0 if it is negative, and as 24 h if it is longer.

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

/// Aims at the end of a wait: a first attempt at once, then one when the wait is as old as waits
/// for this lock usually are, and ever closer ones past that; so whoever has waited longest asks
/// most. In [min, max].
///
/// The load is bounded although nobody knows how many wait: with K attempts between two hand-overs,
/// one in K wins, and that share every waiter sees for itself. Each refusal lengthens its pace by
/// 1 %, each win shortens it by 4 %: at rest one in five wins, however many contend, and the lock
/// is idle for about a fifth of the time.
///
/// All waiters see the same share, so nothing would keep their paces together; therefore a win
/// shortens a long pace by more than a short one (by the root of pace / 100 ms), at the price of a
/// slow rise of K with the number of waiters. A wait much longer than the pace is a sign that more
/// of them have come: from three times the pace on refusals lengthen it by 4 %, and from four times
/// on the pauses grow with the wait itself. Before its first win a process doubles its pauses, up
/// to 150 ms, so that a thousand that ask at once make some 10,000 attempts a second and not more.
/// With its first win it begins at a pace of 100 ms, or an eighth of that first wait if this is
/// more: paces that all begin alike are fair from the first seconds on.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> adaptive_waiting(
    std::chrono::milliseconds min = std::chrono::milliseconds(2),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

/// Waits for the server to say that the lock is free: each provider whose calls wait with this
/// strategy has one change stream on its collection (MongoDB manual, "Change Streams"; the role
/// needs `find` and `changeStream`). `poll` is the safety net: a call asks at least that often (on
/// average every three quarters of it) even if the stream says nothing. Without a stream, because
/// it is being replaced or is not permitted, a call pauses 10..800 ms, but at most `poll`.
///
/// No herd: waiters take turns although they do not know of each other. Each counts the releases
/// that went past it; who has seen as many as it usually takes tries at once, others leave the lock
/// alone for about as long as those that they lack take, at 10 to 250 ms each, and do not read the
/// stream until then; who is all but next hardly waits. Of the attempts that the stream caused, a
/// refused one raises that number by a half, a win lowers it by about a sixth and by 1/28 of it.
///
/// A stream hears of a release only after its majority commit, and every process reads about every
/// lock of the collection: worth it where holders are few and hold for long, so that polls would be
/// in vain; `adaptive_waiting` hands over sooner where holding times are a few ms.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> push_waiting(
    std::chrono::milliseconds poll = std::chrono::seconds(5));

}  // namespace leasehold
