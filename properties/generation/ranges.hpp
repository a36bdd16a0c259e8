#pragma once

#include <cstdint>
#include <string>

#include "sim/plan/plan.hpp"

namespace leasehold::properties {

using sim::Range;

/// How long drawn faults of a kind last, and how large they are, for a plan with this clock margin;
/// 0 to 0: the kind has no such number.
struct FaultRanges {
  Range for_ms, amount;
};
[[nodiscard]] FaultRanges ranges_of(sim::FaultPlan::Kind kind, std::int64_t clock_margin_ms);

/// How many leases a long holding of this lock may last. One without extension has to be over
/// within its lease, as published.
[[nodiscard]] int long_hold_leases(const std::string& lock);

}  // namespace leasehold::properties
