#pragma once

#include "sim/plan/plan.hpp"

namespace leasehold::bench {

/// Eight processes on two locks, with a little of everything, for `faulty_ms`.
inline sim::Plan busy_plan(std::uint64_t seed, std::int64_t faulty_ms, bool faults) {
  using Kind = sim::FaultPlan::Kind;
  sim::Plan plan;
  plan.seed = seed;
  plan.faulty_ms = faulty_ms;
  plan.processes.resize(8);
  for (auto& process : plan.processes) process.wait_max_ms = 100;
  if (!faults) return plan;
  const auto pick = static_cast<std::int64_t>(seed % 7);
  plan.faults = {{Kind::crash, faulty_ms / 8, 0, pick, 0},
                 {Kind::step_up, faulty_ms / 4, 0, pick, 0},
                 {Kind::pause, faulty_ms / 3, faulty_ms / 6, pick, 0},
                 {Kind::lost_replies, faulty_ms / 2, faulty_ms / 8, pick, 0},
                 {Kind::kill_member, faulty_ms * 2 / 3, faulty_ms / 6, pick, 0}};
  return plan;
}

}  // namespace leasehold::bench
