#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/plan/plan.hpp"

namespace leasehold::sim {

// In an order a plan stands as a `.scn` file.
inline void to_json(nlohmann::json& json, const Plan& plan) { json = to_scn(plan); }
inline void from_json(const nlohmann::json& json, Plan& plan) {
  plan = plan_from_scn(json.get<std::string>());
}

}  // namespace leasehold::sim
namespace leasehold::sim::live {

inline constexpr const char* kLockCollection = "distributed.locks";

/// What a simulated process (worker_main.cpp) gets when it starts, as JSON.
struct WorkerConfig {
  std::string name;  ///< of the process, used once in a run
  std::string uri;
  std::string database;
  Plan plan;            ///< of this process alone, without faults
  bool doomed = false;  ///< take a lock that no other process wants, hold it, and wait to be killed
  std::int64_t began_ns = 0;   ///< the times of its steps count from here
  std::string suspended_file = {};  ///< live/processes/worker_clock.hpp

  [[nodiscard]] const ProcessPlan& process() const { return plan.processes.front(); }
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerConfig, name, uri, database, plan, doomed, began_ns,
                                   suspended_file)

}  // namespace leasehold::sim::live
