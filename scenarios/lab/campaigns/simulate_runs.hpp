#pragma once

#include <cstdint>

#include "properties/campaigns/simulate.hpp"
#include "properties/generation/plan_generator.hpp"

/// The runs of `simulate`, on all cores.
namespace leasehold::lab {

struct Seeds {
  std::uint64_t from = 1, to = 1'000;
};

/// All seeds; each run is its own world. `hashed`: with a hash of their histories.
[[nodiscard]] properties::SimulateReport run_seeds(const Seeds& seeds,
                                                   const properties::PlanLimits& limits,
                                                   bool hashed, bool until_failure);

}  // namespace leasehold::lab
