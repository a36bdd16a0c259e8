#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/plan_json.hpp"

namespace leasehold::sim {

NLOHMANN_JSON_SERIALIZE_ENUM(FaultPlan::Kind, {{FaultPlan::Kind::crash, "crash"},
                                               {FaultPlan::Kind::pause, "pause"},
                                               {FaultPlan::Kind::step_up, "step_up"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FaultPlan, kind, at_ms, for_ms, pick)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, seed, lock, locks, clock_margin_ms, faulty_ms, processes,
                                   faults)

const char* to_string(FaultPlan::Kind kind) {
  switch (kind) {
    case FaultPlan::Kind::crash: return "crash";
    case FaultPlan::Kind::pause: return "pause";
    case FaultPlan::Kind::step_up: return "step_up";
  }
  return "?";
}

std::string to_json(const Plan& plan) { return nlohmann::json(plan).dump(1); }

Plan plan_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<Plan>();
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("plan: ") + error.what());
  }
}

}  // namespace leasehold::sim
