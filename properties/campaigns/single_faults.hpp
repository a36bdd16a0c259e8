#pragma once

#include <vector>

#include "sim/plan/plan.hpp"

/// Every single fault: each kind at each event of a few short runs that have no other fault.
namespace leasehold::properties {

/// Short plans without faults, each with another side of the lock at work: contention, hand-overs
/// under a change stream, long holdings, longest holdings, drift and cancels.
[[nodiscard]] const std::vector<sim::Plan>& base_plans();

/// The milliseconds, from the processes' start, in which an event happens in a run of the plan, and
/// those after: a fault at one of them falls before or after each event, as far as a plan can tell
/// times apart.
[[nodiscard]] std::vector<std::int64_t> event_times_ms(const sim::Plan& plan);

/// Each base plan with each kind of fault at each of its times; only every `every`-th of them.
[[nodiscard]] std::vector<sim::Plan> single_fault_plans(std::size_t every);

}  // namespace leasehold::properties
