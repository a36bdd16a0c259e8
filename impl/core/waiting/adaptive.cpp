#include <cmath>
#include <leasehold/waiting.hpp>

#include "core/waiting/random_span.hpp"

namespace leasehold::inline v0_1 {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

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
class AdaptiveWaiting final : public WaitingStrategy {
 public:
  AdaptiveWaiting(nanoseconds min, nanoseconds max) : min_(min), max_(max) {}

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    if (!seen.pace) {
      const auto longest = std::clamp(kLongestWithoutPace, min_, max_);
      const auto mean = std::clamp(seen.waited, min_, longest);
      return std::min(core::random_span(mean / 2, mean + mean / 2, random), max_);
    }
    const auto learned = std::min<nanoseconds>(*seen.pace, core::kLongestPause);
    const auto pace = std::max({learned, seen.waited / kOutdated, nanoseconds(1)});
    const auto spread = core::random_span(pace / 2, pace + pace / 2, random);
    const auto finest = spread / kFinest;
    // Attempts fall where (age / pace)^4 grows by about one: rare at first, then ever closer.
    const double age = static_cast<double>(seen.waited.count()) / static_cast<double>(pace.count());
    const double step = static_cast<double>(spread.count()) / static_cast<double>(pace.count());
    const double next = fourth_root(age * age * age * age + step);
    const auto until_next = (next - age) * static_cast<double>(pace.count());
    return std::clamp(std::max(nanoseconds(static_cast<std::int64_t>(until_next)), finest), min_,
                      max_);
  }
  nanoseconds longest_pause() const override { return max_; }

  std::optional<nanoseconds> next_pace(const AttemptSeen& seen, bool won) const override {
    if (!seen.pace && !won) return std::nullopt;
    if (!seen.pace) return std::max({kInitialPace, seen.waited / kInitialShare, min_});
    const auto pace = std::min<nanoseconds>(*seen.pace, core::kLongestPause);
    const double now = static_cast<double>(pace.count());
    const double eagerness = std::sqrt(now / kReferencePace_ns);
    const double longer = 1 + (seen.waited > kLate * pace ? kLateFactor : 1) * kStep;
    const double step = won ? 1 / (1 + kStep * (kAttemptsPerWin - 1) * eagerness) : longer;
    const nanoseconds next(static_cast<std::int64_t>(now * step));
    return std::max(min_, std::min<nanoseconds>(next, std::chrono::hours(1)));
  }

 private:
  nanoseconds min_, max_;
};

}  // namespace

/// A pace of nothing could not grow, for it grows by parts of itself.
std::shared_ptr<const WaitingStrategy> adaptive_waiting(milliseconds min, milliseconds max) {
  const auto low = std::max(core::bounded_pause(min), milliseconds(1));
  return std::make_shared<AdaptiveWaiting>(low, std::max(low, core::bounded_pause(max)));
}

}  // namespace leasehold
