#pragma once

#include <rapidcheck.h>

#include <optional>
#include <set>
#include <string>

#include "sim/plan.hpp"

namespace leasehold::properties {

/// What is given for a generated plan; the rest is generated.
struct PlanLimits {
  std::optional<int> processes;
  std::optional<int> locks;
  std::string lock = "leasehold";
  std::int64_t faulty_ms = 8'000;
  std::set<std::string> groups;  ///< of faults; empty: none
  bool own_servers = true;       ///< false: the same plan, but for the faults of servers and links
};

/// Plans of live runs: options within the lock's rules, processes of different manners, faults of
/// every kind of the groups, pauses mostly longer than the lease of whom they hit.
[[nodiscard]] rc::Gen<sim::Plan> plans(PlanLimits limits);

/// The plan that this seed draws. The same seed and limits give the same plan.
[[nodiscard]] sim::Plan draw_plan(std::uint64_t seed, const PlanLimits& limits);

}  // namespace leasehold::properties
