#include <leasehold/waiting.hpp>

#include "core/waiting/random_span.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kAttemptsPerWait = 4;
/// While nothing is known, pauses are this share of the wait so far.
constexpr int kColdShare = 2;
/// A wait this many times longer than usual is a sign that things have changed.
constexpr int kOutdated = 3;

class AdaptiveWaiting final : public WaitingStrategy {
 public:
  AdaptiveWaiting(nanoseconds min, nanoseconds max) : min_(min), max_(max) {}

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    const auto mean = std::clamp(mean_pause(seen), min_, max_);
    return std::min(core::random_span(mean / 2, mean + mean / 2, random), max_);
  }
  nanoseconds longest_pause() const override { return max_; }
  bool learns() const override { return true; }

 private:
  static nanoseconds mean_pause(const AttemptSeen& seen) {
    if (!seen.typical_wait) return seen.waited / kColdShare;
    const auto typical = std::max(*seen.typical_wait, seen.waited / kOutdated);
    // From half as often as on average at the beginning of a wait to twice as often once it is
    // longer than usual: who has waited long comes first.
    return std::clamp(2 * typical - seen.waited, typical / 2, 2 * typical) / kAttemptsPerWait;
  }

  nanoseconds min_, max_;
};

}  // namespace

std::shared_ptr<const WaitingStrategy> adaptive_waiting(milliseconds min, milliseconds max) {
  const auto low = std::max(min, milliseconds(1));
  return std::make_shared<AdaptiveWaiting>(low, std::max(low, max));
}

}  // namespace leasehold
