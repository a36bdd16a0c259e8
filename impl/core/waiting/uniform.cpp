#include <leasehold/waiting.hpp>

#include "core/waiting/random_span.hpp"

namespace leasehold::inline v0_1 {
namespace {

/// BusyWaitSleepTime of DistributedLock.MongoDB (REFERENCES.md). It neither learns nor looks at
/// what an attempt saw: the yardstick for those that do.
class UniformWaiting final : public WaitingStrategy {
 public:
  UniformWaiting(std::chrono::nanoseconds min, std::chrono::nanoseconds max)
      : min_(min), max_(max) {}

  std::chrono::nanoseconds pause(const AttemptSeen&, std::uint64_t random) const override {
    return core::random_span(min_, max_, random);
  }
  std::chrono::nanoseconds longest_pause() const override { return max_; }

 private:
  std::chrono::nanoseconds min_, max_;
};

}  // namespace

std::shared_ptr<const WaitingStrategy> uniform_waiting(std::chrono::milliseconds min,
                                                       std::chrono::milliseconds max) {
  // With a longest pause below the shortest, every pause is the shortest.
  const auto low = core::bounded_pause(min);
  return std::make_shared<UniformWaiting>(low, std::max(low, core::bounded_pause(max)));
}

std::shared_ptr<const WaitingStrategy> fixed_waiting(std::chrono::milliseconds pause) {
  return uniform_waiting(pause, pause);
}

}  // namespace leasehold
