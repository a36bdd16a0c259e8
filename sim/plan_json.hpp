#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan.hpp"

namespace leasehold::sim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProcessPlan, expiry_ms, wait_min_ms, wait_max_ms, hold_ms,
                                   long_hold_percent, long_hold_leases, single_attempt_percent,
                                   cancel_percent, patience_ms, drift_ppm, scripted, waiting,
                                   callers, hand_overs, max_holding_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepPlan, action, at_ms, process, caller, lock, patience_ms,
                                   is_the_fault)

}  // namespace leasehold::sim
