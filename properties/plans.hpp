#pragma once

#include <rapidcheck/Gen.h>

#include <iosfwd>

#include "properties/plan_generator.hpp"

/// Plans as RapidCheck has them: a generator draws one from a seed, with what is smaller than it.
/// For a seed's plan alone, or the smallest, include plan_generator.hpp, which is without
/// RapidCheck.
namespace leasehold::properties {

/// All plans within these limits, for properties: `const auto plan = *plans(live_limits());`. A
/// failing plan is shrunk like `minimise` does it. The size of RapidCheck is not used, because a
/// small plan shows little.
[[nodiscard]] rc::Gen<sim::Plan> plans(PlanLimits limits);

/// This plan, and the plans that are smaller by one thing: without a part of its faults, then of
/// its processes (of its steps, if it is scripted), with fewer names, less time, no drift, zero
/// percent. After one of them is chosen, earlier candidates are not tried again at once.
[[nodiscard]] rc::Shrinkable<sim::Plan> with_shrinks(sim::Plan plan);

}  // namespace leasehold::properties

namespace leasehold::sim {

/// How RapidCheck prints a plan.
void showValue(const Plan& plan, std::ostream& out);

}  // namespace leasehold::sim
