#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"

/// Plans made of plain numbers by an interpreter: for `simulate` the numbers of a seed, for live
/// runs RapidCheck's (see plans.hpp).
namespace leasehold::properties {

using Numbers = std::vector<std::uint32_t>;

/// The world of a plan: how often something is drawn, and from which ranges.
enum class Manner {
  simulated,  ///< each fault kind on or off for the whole plan ("swarm"); extremes are frequent
  live,       ///< faults as often as real servers get over them; a run of seconds is worth its time
};

/// All of them.
[[nodiscard]] inline std::vector<sim::Waiting> drawn_waitings() {
  using enum sim::Waiting;
  return {uniform, fixed, full_jitter, decorrelated, adaptive, queue};
}

/// The given parts of a generated plan; the rest is drawn. Ranges include both ends.
struct PlanLimits {
  Manner manner = Manner::simulated;
  std::string lock = "leasehold";
  sim::Range processes{2, 8};
  sim::Range locks{1, 3};
  std::int64_t faulty_ms = 6'000;
  std::set<std::string> groups{sim::fault_groups().begin(), sim::fault_groups().end()};
  /// Each process waits in one of these ways, by a draw; in queues only if they are named.
  std::vector<sim::Waiting> waitings = drawn_waitings();
  std::optional<sim::FaultPlan::Kind> only = {};  ///< this fault kind, always, and no other
  /// A lock that is not ours: more of what shows how it goes on when its lease is over, and of wall
  /// clocks, for whatever it may depend on them.
  bool foreign = false;
  bool shares = true;  ///< of such a lock: it can be shared
};

/// Limits of live plans, which are larger.
[[nodiscard]] inline PlanLimits live_limits() {
  return {.manner = Manner::live, .processes = {4, 16}, .locks = {2, 8}, .faulty_ms = 8'000};
}

/// How long drawn faults of a kind last, and how large they are, for a plan with this clock margin;
/// 0 to 0: the kind has no such number.
struct FaultRanges {
  sim::Range for_ms, amount;
};
[[nodiscard]] FaultRanges ranges_of(sim::FaultPlan::Kind kind, std::int64_t clock_margin_ms);

/// Reads a plan from the numbers; after their end zeros follow, which stand for the least values.
[[nodiscard]] sim::Plan plan_from(const Numbers& numbers, const PlanLimits& limits);

/// The numbers that a seed of `simulate` stands for.
[[nodiscard]] Numbers numbers_of(std::uint64_t seed);

/// The plan of this seed. The same seed and limits give the same plan.
[[nodiscard]] sim::Plan draw_plan(std::uint64_t seed, const PlanLimits& limits);

/// How long a command minimises a failing plan at most; a last run may end later.
inline constexpr std::chrono::seconds kMinimisingLimit{160};

/// The plan without all that the failure does not need: faults, processes, names, time, drift,
/// percentages. `fails` is called for each candidate, for `likely` ones first; the plan itself has
/// to fail.
[[nodiscard]] sim::Plan minimise(sim::Plan plan,
                                 const std::function<bool(const sim::Plan&)>& fails,
                                 std::vector<sim::Plan> likely = {});

/// Processes, faults and steps: what a reader has to understand.
[[nodiscard]] inline std::size_t entries(const sim::Plan& plan) {
  return plan.processes.size() + plan.faults.size() + plan.steps.size();
}

}  // namespace leasehold::properties
