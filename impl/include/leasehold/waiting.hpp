#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace leasehold::inline v0_1 {

/// What a waiting acquire has learned so far.
struct AttemptSeen {
  int attempts = 0;      ///< attempts of this acquire call so far, at least 1
  bool refused = false;  ///< another holds the lock (otherwise no server answered)
  /// How long this call has contended for the lock at the server.
  std::chrono::nanoseconds waited{0};
  /// How old a wait for this lock usually is when it ends, as `next_pace` said last.
  std::optional<std::chrono::nanoseconds> pace;
  std::chrono::nanoseconds last_pause{0};  ///< of this call; zero before the first
  /// If the lock's queue (see `queue_waiting`) had no room for this call: how long until it has, as
  /// estimated; zero: no estimate.
  std::optional<std::chrono::nanoseconds> room_in;
};

/// How long a waiting acquire pauses between two attempts.
///
/// A strategy is pure: it gets its randomness and keeps no state, so one object may serve every
/// lock of a process and the same code runs in production and in simulation. Waiters of one process
/// queue: only the first in the queue makes attempts, and asks its strategy.
/// `queue_waiting` is the default, and what it lacks it does without. The others are for comparison
/// and for servers that are known to suit them. impl/guide/waiting.md has the figures.
/// Thread safety: all calls from any thread; they must neither block nor throw. A negative pause
/// counts as 0, one above `longest_pause` as `longest_pause`.
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

  /// For a strategy that learns: the pace that a provider keeps for a lock, after an attempt that
  /// won or was refused; none: the pace stays.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> next_pace(
      const AttemptSeen& /*seen*/, bool /*won*/) const {
    return std::nullopt;
  }

  /// For a strategy whose calls join the lock's queue (see `queue_waiting`): how long a call that
  /// has been queued for `waited` pauses at least before it asks again; it first pauses for 1.5
  /// times the provider's last wait in this queue, if that is longer. None: its calls do not queue.
  /// No longer than `longest_pause`.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> renewal(
      std::chrono::nanoseconds /*waited*/) const {
    return std::nullopt;
  }
};

/// A span given to the functions below counts as 0 if it is negative, and as 24 h if it is longer.

/// The same pause each time. Waiters that began together stay together: for comparison only.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> fixed_waiting(std::chrono::milliseconds pause);

/// A random pause in [min, max], each equally likely: how DistributedLock.MongoDB waits, where
/// it is called BusyWaitSleepTime and defaults to 10..800 ms.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> uniform_waiting(
    std::chrono::milliseconds min = std::chrono::milliseconds(10),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

/// How an exponential backoff spreads its pauses.
enum class Jitter {
  full,          ///< uniform in [0, min(max, base * 2^(attempts - 1))]
  decorrelated,  ///< uniform in [base, 3 * the pause before], at most max
};

/// Pauses that grow with every refusal, from `base` to `max`. Easy on the server, but unfair: new
/// callers ask more often than those that have waited long.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> exponential_waiting(
    Jitter jitter, std::chrono::milliseconds base = std::chrono::milliseconds(10),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

/// Aims at the end of a wait: a first attempt at once, then one when waits for this lock usually
/// end, and ever closer ones after that; so the call that has waited longest asks most. In
/// [min, max].
///
/// The load is bounded although no waiter knows how many wait: each learns its pace from the share
/// of its own attempts that win, until that share is about the same however many contend. The price
/// is that the lock is idle for about a fifth of the time.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> adaptive_waiting(
    std::chrono::milliseconds min = std::chrono::milliseconds(2),
    std::chrono::milliseconds max = std::chrono::milliseconds(800));

/// The default. Fair between processes: a call that finds the lock held joins a queue in the lock's
/// own document, and a release passes the lock to the first call in it, in one command. So there is
/// an order, no call polls, and none is woken in vain. A lock that nobody else wants costs the same
/// two commands with each strategy.
///
/// A provider is notified by a change stream, which reports its own grants alone, that a lock was
/// passed to it (the role needs `find` and `changeStream`). It is opened by the first call that
/// waits, and closed some seconds after the last. A waiting call also asks again now and
/// then, ever more seldom, at least each `longest`: that keeps its place, takes a lock that has
/// become free otherwise, and finds a grant that the stream did not report. Without a stream calls
/// queue, too, but ask as often as with `adaptive_waiting`. Through a mongos there is none, because
/// its events are late by seconds.
///
/// The order is that of first refusals. It is best effort: a place is lost when the document is
/// deleted or overwritten by software without queues. A release of this
/// library keeps the queue, whatever the holder's own strategy. A queue has room
/// for 64 calls. Further ones take numbers, and ask again about when their turn for a place comes.
///
/// A call of this library that finds a queue joins it, whatever its own strategy, because one that
/// polls would rarely find the lock free. Other software that polls, such as the .NET
/// package, can win only in the 20 ms for which some releases leave the lock free: the first in a
/// second or, if holdings last 250 ms or more, one in four of these by chance.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> queue_waiting(
    std::chrono::milliseconds longest = std::chrono::seconds(10));

}  // namespace leasehold
