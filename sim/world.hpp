#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/history/history.hpp"
#include "sim/plan/plan.hpp"

namespace leasehold::sim {

/// How often each kind of fault took effect.
using FaultCounts = std::map<std::string, std::int64_t>;

/// The result of a plan, in either world.
struct RunResult {
  model::History history;
  FaultCounts took_effect;
  std::int64_t elapsed_ns = 0;  ///< of the world's own time
  std::uint64_t events = 0;     ///< of the virtual world's queue; 0 in a real one
};

/// Where a plan runs: processes with the production lock or another, a replica set, and what goes
/// wrong with both. Code that compares, minimises or tells a story takes a World and does not ask
/// which.
///
///     simulated::SimulatedWorld world;
///     const auto findings = properties::judge(world.run(plan).history).findings;
class World {
 public:
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Runs from the start of the processes to the server's truth at the end. Throws when there is no
  /// mongod, when a process ended that the run had not killed, and when the lock sends what a
  /// simulated server does not know.
  [[nodiscard]] virtual RunResult run(const Plan& plan) = 0;

  /// Removes what runs left on a user's servers. Returns what could not be removed, and why.
  virtual std::vector<std::string> leave() { return {}; }

  /// Whether it takes real time, so that two runs of one plan may differ.
  [[nodiscard]] virtual bool is_live() const = 0;

 protected:
  World() = default;
};

}  // namespace leasehold::sim
