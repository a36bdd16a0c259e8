#pragma once

#include <string>

#include "model/history/history.hpp"
#include "sim/plan/plan.hpp"
#include "sim/world.hpp"

/// The virtual world: a pure function from a plan to a history. No real time, no thread, no I/O.
namespace leasehold::sim::simulated {

/// Throws Unsupported when the lock sends what the simulated server does not know.
///
/// A run depends on `plan` alone, its seed included: on no environment, no address, no iteration
/// order of a hash table and no real time. Runs in several threads share nothing.
[[nodiscard]] RunResult run(const Plan& plan);

/// Whether the locks' database moves from shard to shard meanwhile, as where faults hit servers.
[[nodiscard]] bool has_moves(const Plan& plan);

class SimulatedWorld final : public World {
 public:
  [[nodiscard]] RunResult run(const Plan& plan) override { return simulated::run(plan); }
  [[nodiscard]] bool is_live() const override { return false; }
};

/// A hash of the whole history, as its JSON lines: the same on every machine and in every build. A
/// test pins one, so an unintended change of behaviour shows as another number.
[[nodiscard]] std::uint64_t hash(const model::History& history);

/// Where two histories part, as "line 7: ... against ..."; empty if they are equal. The first
/// different event is near the cause of the nondeterminism; the rest follows from it.
[[nodiscard]] std::string first_difference(const model::History& a, const model::History& b);

}  // namespace leasehold::sim::simulated
