#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan/plan_fields.hpp"

/// Parts of a plan as JSON, for the orders of workers.
namespace leasehold::sim {

template <typename Part>
auto to_members(nlohmann::json& json, const Part& part) {
  return [&](const char* key, auto member, fields::Limits, fields::Written) {
    json[key] = part.*member;
  };
}

template <typename Part>
auto from_members(const nlohmann::json& json, Part& part) {
  return [&](const char* key, auto member, fields::Limits, fields::Written) {
    json.at(key).get_to(part.*member);
  };
}

inline void to_json(nlohmann::json& json, const ProcessPlan& plan) {
  fields::of_process(to_members(json, plan));
}
inline void from_json(const nlohmann::json& json, ProcessPlan& plan) {
  fields::of_process(from_members(json, plan));
}

inline void to_json(nlohmann::json& json, const StepPlan& step) {
  json["action"] = step.action;
  fields::of_step(to_members(json, step));
}
inline void from_json(const nlohmann::json& json, StepPlan& step) {
  json.at("action").get_to(step.action);
  fields::of_step(from_members(json, step));
}

}  // namespace leasehold::sim
