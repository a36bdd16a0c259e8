#pragma once

#include <vector>

#include "model/history/history.hpp"
#include "model/verdict/checkers.hpp"
#include "sim/plan/plan.hpp"

/// Small plans out of what a violation shows of its cause.
namespace leasehold::properties {

/// The parts of the plan that took part in the first violation of this check, by the events of its
/// finding. All plans have one lock, and less time; the smaller come first:
///
/// - its processes, and no fault;
/// - the same, with the faults that took effect shortly before it or during it, but for those that
///   hit other processes;
/// - likewise with the processes of all findings that are violated;
/// - all processes, and all faults that took effect then.
///
/// No two are equal, and none is the plan. None, if the plan is scripted or the events name no
/// process of it. The plan need not be deterministic: a slice may fail or not, as it runs.
[[nodiscard]] std::vector<sim::Plan> slices(const sim::Plan& plan, const model::History& history,
                                            const std::vector<model::Finding>& findings,
                                            model::Check check);

}  // namespace leasehold::properties
