#pragma once

#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {

/// The wall clock of one member, which a fault may move or let drift. What it shows is counted as
/// the queue counts: in ns from the start of the run.
///
/// It decides what the manual's `$$NOW` is, and when a member's timers are due; no message and no
/// order of writes depends on it.
///
/// INVARIANT: a time on the grain is shown as a time on the grain, so that rounding is the same on
/// all machines.
class MemberClock {
 public:
  /// From now on it shows true time plus the offset, and runs fast by `rate_ppm`.
  void set(std::int64_t now_ns, std::int64_t offset_ms, std::int64_t rate_ppm) {
    offset_ms_ = offset_ms;
    rate_ppm_ = rate_ppm;
    // The rate counts from here; what it added before is replaced by the new offset.
    set_at_ns_ = now_ns;
  }

  [[nodiscard]] std::int64_t shown(std::int64_t now_ns) const {
    // In whole ms, so that the clock stays on the grain; multiplied before it is divided.
    const auto drifted_ms = (now_ns - set_at_ns_) / kMs * rate_ppm_ / 1'000'000;
    return now_ns + (offset_ms_ + drifted_ms) * kMs;
  }

 private:
  std::int64_t offset_ms_ = 0, rate_ppm_ = 0, set_at_ns_ = 0;
};

}  // namespace leasehold::sim::simulated
