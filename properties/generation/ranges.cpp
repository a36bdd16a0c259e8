#include "properties/generation/ranges.hpp"

#include "model/history/history.hpp"
#include "model/spec/lock_rules.hpp"

namespace leasehold::properties {

FaultRanges ranges_of(sim::FaultPlan::Kind kind, std::int64_t clock_margin_ms) {
  const auto& about = sim::about(kind);
  if (kind == sim::FaultPlan::Kind::clock_jump) {
    return {about.for_ms, {-clock_margin_ms, clock_margin_ms}};
  }
  return {about.for_ms, about.amount};
}

int long_hold_leases(const std::string& lock) {
  const auto known = model::lock_named(lock);
  return !known || model::rules_of(*known).extends ? 2 : 1;
}

}  // namespace leasehold::properties
