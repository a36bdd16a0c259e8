#pragma once

#include <rapidcheck/Gen.h>
#include <rapidcheck/Random.h>

#include <iosfwd>

#include "properties/generation/plan_generator.hpp"

/// Plans as RapidCheck has them: a generator draws one from a seed, with what is smaller than it.
/// plan_generator.hpp, for the plan of a seed or the smallest plan alone, has no such header.
namespace leasehold::properties {

/// All plans within these limits, for properties: `const auto plan = *plans(live_limits());`. What
/// fails is shrunk as `minimise` does it. The size of RapidCheck is not used, because a small plan
/// shows little.
[[nodiscard]] rc::Gen<sim::Plan> plans(PlanLimits limits);

}  // namespace leasehold::properties

namespace leasehold::sim {

/// How RapidCheck prints a plan.
void showValue(const Plan& plan, std::ostream& out);

}  // namespace leasehold::sim
