#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plan.hpp"

/// Plans out of plain numbers: a vector of them is read by an interpreter of its own, so that
/// RapidCheck shrinks vectors (fast) and a seed gives a plan without RapidCheck at all.
namespace leasehold::properties {

using Numbers = std::vector<std::uint32_t>;

/// How large a virtual plan may be.
struct DrawnLimits {
  int processes = 8;
  int locks = 3;
  std::int64_t faulty_ms = 6'000;
  std::string lock = "leasehold";
  std::optional<sim::FaultPlan::Kind> only = {};  ///< this fault kind, always, and no other
  bool no_faults = false;
};

/// Reads a plan from the numbers; where they end, zeros follow, which stand for the least. Every
/// fault kind is on or off for the whole plan ("swarm").
[[nodiscard]] sim::Plan plan_from(const Numbers& numbers, const DrawnLimits& limits);

/// The numbers that a seed stands for.
[[nodiscard]] Numbers numbers_of(std::uint64_t seed);

}  // namespace leasehold::properties
