#include "bench/contend/own_strategy.hpp"

#include <algorithm>

/// An example: each pause after the first is one and a half times the last, at most a second.
struct OneAndAHalf final : leasehold::WaitingStrategy {
  std::chrono::nanoseconds longest_pause() const override { return std::chrono::seconds(1); }
  std::chrono::nanoseconds pause(const leasehold::AttemptSeen& seen, std::uint64_t) const override {
    const auto next = seen.last_pause + seen.last_pause / 2;
    return std::clamp<std::chrono::nanoseconds>(next, std::chrono::milliseconds(5),
                                                longest_pause());
  }
};

const leasehold::WaitingStrategy* leasehold_waiting_strategy() {
  static const OneAndAHalf strategy;
  return &strategy;
}
