#pragma once

#include <cstdint>

#include "properties/plan_generator.hpp"
#include "properties/simulate.hpp"

/// The runs of `simulate`, on all cores.
namespace leasehold::lab {

struct Seeds {
  std::uint64_t from = 1, to = 1'000;
  double seconds = 0;  ///< no run starts later than this; 0: all run
};

/// All seeds; each run is its own world. `hashed`: with a hash of their histories.
[[nodiscard]] properties::SimulateReport run_seeds(const Seeds& seeds,
                                                   const properties::PlanLimits& limits,
                                                   bool hashed, bool until_failure);

}  // namespace leasehold::lab
