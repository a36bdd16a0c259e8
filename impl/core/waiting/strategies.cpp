#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <leasehold/waiting.hpp>

namespace leasehold::inline v0_1 {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// No strategy pauses for longer, whatever it is asked for: what is added to an instant, or
/// doubled, must not overflow.
constexpr milliseconds kLongestPause{std::chrono::hours(24)};

milliseconds bounded_pause(milliseconds pause) {
  return std::clamp(pause, milliseconds(0), kLongestPause);
}

/// A time in [low, high], each ns equally likely; `low` if the span is empty. By a remainder and
/// not by a library's distribution, because a seed stands for one run everywhere and libraries
/// differ. What the remainder prefers is one part in 10^5 for a span of 24 h, and less below.
nanoseconds random_span(nanoseconds low, nanoseconds high, std::uint64_t random) {
  const auto choices =
      static_cast<std::uint64_t>(std::max<std::int64_t>((high - low).count(), 0)) + 1;
  return low + nanoseconds(static_cast<std::int64_t>(random % choices));
}

/// Between two times: it pauses for no longer than the second.
class Between : public WaitingStrategy {
 public:
  Between(nanoseconds min, nanoseconds max) : min_(min), max_(max) {}
  nanoseconds longest_pause() const final { return max_; }

 protected:
  nanoseconds min_, max_;
};

/// BusyWaitSleepTime of DistributedLock.MongoDB (REFERENCES.md). It neither learns nor looks at
/// what an attempt saw: the yardstick for those that do.
class UniformWaiting final : public Between {
 public:
  using Between::Between;

  nanoseconds pause(const AttemptSeen&, std::uint64_t random) const override {
    return random_span(min_, max_, random);
  }
};

/// Both as in *Exponential Backoff And Jitter* of the AWS Architecture Blog (REFERENCES.md).
class FullJitter final : public Between {
 public:
  using Between::Between;

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    constexpr int kMostDoublings = 30;  // beyond it any base of a ms or more has passed 24 h
    const auto factor = 1 << std::clamp(seen.attempts - 1, 0, kMostDoublings);
    const auto longest = min_ <= max_ / factor ? min_ * factor : max_;  // without overflow
    return random_span(nanoseconds(0), longest, random);
  }
};

/// Grows from the pause before it and not from the number of attempts: waiters that began together
/// do not stay together.
class DecorrelatedJitter final : public Between {
 public:
  using Between::Between;

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    // Before its first pause a call has none: that counts as the base.
    const auto before = std::clamp(seen.last_pause, min_, max_);
    return random_span(min_, std::min(max_, 3 * before), random);
  }
};

/// In balance one attempt in so many wins, however many contend: with K attempts between two grants
/// one in K wins, and every waiter sees that share in its own attempts. A refusal lengthens its
/// pace by a step; a win shortens it by as much as balances that.
constexpr double kAttemptsPerWin = 5;
constexpr double kStep = 0.01;
/// Before its first win a process doubles its pauses up to this, so that a thousand that ask at
/// once make some 10,000 attempts a second and not more.
constexpr nanoseconds kLongestWithoutPace = milliseconds(150);
/// All waiters begin with the same pace, or it would take seconds until they are fair; a long first
/// wait shows that many contend, and a part of it is the pace then.
constexpr nanoseconds kInitialPace = milliseconds(100);
constexpr int kInitialShare = 8;
/// A refusal after a wait this many times the pace counts so many times as much: it is a sign that
/// more have come.
constexpr int kLate = 3, kLateFactor = 4;
/// The pace at which one in kAttemptsPerWin wins; at longer ones it is fewer, at shorter ones more.
/// All waiters see the same share, so nothing else would keep their paces together; the price is
/// that the attempts per win rise slowly with the number of waiters.
constexpr double kReferencePace_ns = 100e6;
/// A wait this many times the pace is a sign that the pace is out of date.
constexpr int kOutdated = 4;
/// No pause is shorter than this part of the pace.
constexpr int kFinest = 20;

double fourth_root(double value) { return std::sqrt(std::sqrt(value)); }

// Only square roots, which every machine computes alike: simulated runs repeat exactly.
class AdaptiveWaiting final : public Between {
 public:
  using Between::Between;

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    // No server answers: what waits usually take says nothing. And a link on which a log-in takes
    // longer than an attempt may needs the time between attempts.
    if (!seen.refused) return random_span(min_, max_, random);
    if (!seen.pace) {
      const auto longest = std::clamp(kLongestWithoutPace, min_, max_);
      const auto mean = std::clamp(seen.waited, min_, longest);
      return std::min(random_span(mean / 2, mean + mean / 2, random), max_);
    }
    const auto learned = std::min<nanoseconds>(*seen.pace, kLongestPause);
    const auto pace = std::max({learned, seen.waited / kOutdated, nanoseconds(1)});
    const auto spread = random_span(pace / 2, pace + pace / 2, random);
    const auto finest = spread / kFinest;
    // Attempts fall where (age / pace)^4 grows by about one: rare at first, then ever closer.
    const double age = static_cast<double>(seen.waited.count()) / static_cast<double>(pace.count());
    const double step = static_cast<double>(spread.count()) / static_cast<double>(pace.count());
    const double next = fourth_root(age * age * age * age + step);
    const auto until_next = (next - age) * static_cast<double>(pace.count());
    return std::clamp(std::max(nanoseconds(static_cast<std::int64_t>(until_next)), finest), min_,
                      max_);
  }

  std::optional<nanoseconds> next_pace(const AttemptSeen& seen, bool won) const override {
    if (!seen.pace && !won) return std::nullopt;
    if (!seen.pace) return std::max({kInitialPace, seen.waited / kInitialShare, min_});
    const auto pace = std::min<nanoseconds>(*seen.pace, kLongestPause);
    const double now = static_cast<double>(pace.count());
    const double eagerness = std::sqrt(now / kReferencePace_ns);
    const double longer = 1 + (seen.waited > kLate * pace ? kLateFactor : 1) * kStep;
    const double step = won ? 1 / (1 + kStep * (kAttemptsPerWin - 1) * eagerness) : longer;
    const nanoseconds next(static_cast<std::int64_t>(now * step));
    return std::max(min_, std::min<nanoseconds>(next, std::chrono::hours(1)));
  }
};

/// Most waits are over before that, and then cost no renewal.
constexpr nanoseconds kShortestRenewal = milliseconds(500);
/// The pause is the wait so far divided by this: a lost place costs at most that much again.
constexpr int kRenewals = 2;

/// The shortest pause of a call that found no room: long enough for some turns, so that the next
/// look tells how fast the queue moves. Spread, because calls that ask at once find none together.
constexpr nanoseconds kShortestLook = milliseconds(100), kLongestLook = milliseconds(300);

nanoseconds until_room(nanoseconds room_in, std::uint64_t random) {
  return std::max(room_in, random_span(kShortestLook, kLongestLook, random));
}

/// A call that is not notified, or found neither a place nor a full queue, pauses adaptively.
class QueueWaiting final : public Between {
 public:
  explicit QueueWaiting(nanoseconds longest) : Between(nanoseconds(0), longest) {}

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    return std::min(seen.room_in ? until_room(*seen.room_in, random)
                                 : otherwise_->pause(seen, random),
                    max_);
  }
  std::optional<nanoseconds> next_pace(const AttemptSeen& seen, bool won) const override {
    return otherwise_->next_pace(seen, won);
  }
  std::optional<nanoseconds> renewal(nanoseconds waited) const override {
    return std::min(std::max(waited / kRenewals, kShortestRenewal), max_);
  }

 private:
  const std::shared_ptr<const WaitingStrategy> otherwise_ = adaptive_waiting();
};

}  // namespace

std::shared_ptr<const WaitingStrategy> uniform_waiting(milliseconds min, milliseconds max) {
  // With a longest pause below the shortest, every pause is the shortest.
  const auto low = bounded_pause(min);
  return std::make_shared<UniformWaiting>(low, std::max(low, bounded_pause(max)));
}

std::shared_ptr<const WaitingStrategy> fixed_waiting(milliseconds pause) {
  return uniform_waiting(pause, pause);
}

std::shared_ptr<const WaitingStrategy> exponential_waiting(Jitter jitter, milliseconds base,
                                                           milliseconds max) {
  // Twice nothing is nothing: pauses would never grow.
  const auto low = std::max(bounded_pause(base), milliseconds(1));
  const auto high = std::max(bounded_pause(max), low);
  if (jitter == Jitter::full) return std::make_shared<FullJitter>(low, high);
  return std::make_shared<DecorrelatedJitter>(low, high);
}

/// A pace of nothing could not grow, for it grows by parts of itself.
std::shared_ptr<const WaitingStrategy> adaptive_waiting(milliseconds min, milliseconds max) {
  const auto low = std::max(bounded_pause(min), milliseconds(1));
  return std::make_shared<AdaptiveWaiting>(low, std::max(low, bounded_pause(max)));
}

/// `longest` bounds every pause of it, also those of the strategy that it falls back to.
std::shared_ptr<const WaitingStrategy> queue_waiting(milliseconds longest) {
  return std::make_shared<QueueWaiting>(std::max(bounded_pause(longest), milliseconds(1)));
}

}  // namespace leasehold
