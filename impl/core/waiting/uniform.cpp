#include <leasehold/waiting.hpp>

namespace leasehold {
namespace {

class UniformWaiting final : public WaitingStrategy {
 public:
  UniformWaiting(std::chrono::nanoseconds min, std::chrono::nanoseconds max)
      : min_(min), span_(max - min) {}

  std::chrono::nanoseconds pause(const AttemptSeen&, std::uint64_t random) const override {
    const auto choices = static_cast<std::uint64_t>(span_.count()) + 1;
    return min_ + std::chrono::nanoseconds(static_cast<std::int64_t>(random % choices));
  }

  std::chrono::nanoseconds longest_pause() const override { return min_ + span_; }

 private:
  std::chrono::nanoseconds min_;
  std::chrono::nanoseconds span_;
};

}  // namespace

std::shared_ptr<const WaitingStrategy> uniform_waiting(std::chrono::milliseconds min,
                                                       std::chrono::milliseconds max) {
  const auto low = std::max(min, std::chrono::milliseconds(0));
  return std::make_shared<UniformWaiting>(low, std::max(low, max));
}

}  // namespace leasehold
