#include <leasehold/waiting.hpp>

#include "core/waiting/random_span.hpp"

namespace leasehold::inline v0_1 {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Both as in *Exponential Backoff And Jitter* of the AWS Architecture Blog (REFERENCES.md).
class FullJitter final : public WaitingStrategy {
 public:
  FullJitter(nanoseconds base, nanoseconds max) : base_(base), max_(max) {}

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    constexpr int kMostDoublings = 30;  // beyond it any base of a ms or more has passed 24 h
    const auto factor = 1 << std::clamp(seen.attempts - 1, 0, kMostDoublings);
    const auto longest = base_ <= max_ / factor ? base_ * factor : max_;  // without overflow
    return core::random_span(nanoseconds(0), longest, random);
  }
  nanoseconds longest_pause() const override { return max_; }

 private:
  nanoseconds base_, max_;
};

/// Grows from the pause before it and not from the number of attempts: waiters that began together
/// do not stay together.
class DecorrelatedJitter final : public WaitingStrategy {
 public:
  DecorrelatedJitter(nanoseconds base, nanoseconds max) : base_(base), max_(max) {}

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    // Before its first pause a call has none: that counts as the base.
    const auto before = std::clamp(seen.last_pause, base_, max_);
    return core::random_span(base_, std::min(max_, 3 * before), random);
  }
  nanoseconds longest_pause() const override { return max_; }

 private:
  nanoseconds base_, max_;
};

}  // namespace

std::shared_ptr<const WaitingStrategy> exponential_waiting(Jitter jitter, milliseconds base,
                                                           milliseconds max) {
  // Twice nothing is nothing: pauses would never grow.
  const auto low = std::max(core::bounded_pause(base), milliseconds(1));
  const auto high = std::max(core::bounded_pause(max), low);
  if (jitter == Jitter::full) return std::make_shared<FullJitter>(low, high);
  return std::make_shared<DecorrelatedJitter>(low, high);
}

}  // namespace leasehold
