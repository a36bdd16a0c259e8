#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "properties/campaigns/campaign.hpp"
#include "sim/live/run/harness.hpp"

/// Runs of locks that are not ours.
namespace leasehold::lab {

/// Its processes have something to say at any time.
inline sim::Plan busy_plan(std::size_t processes, std::int64_t faulty_ms,
                           std::vector<sim::FaultPlan> faults = {}) {
  sim::Plan plan{.seed = 4, .locks = 2, .faulty_ms = faulty_ms, .faults = std::move(faults)};
  plan.processes.assign(processes, {.long_hold_percent = 0});
  return plan;
}

/// Every fault of a link, one after the other.
inline std::vector<sim::FaultPlan> faults_of_links(std::int64_t from_ms) {
  using K = sim::FaultPlan::Kind;
  return {{.kind = K::cut_link, .at_ms = from_ms, .for_ms = 450},
          {.kind = K::slow_link, .at_ms = from_ms + 500, .for_ms = 450, .amount = 40},
          {.kind = K::lost_replies, .at_ms = from_ms + 1'000, .for_ms = 450},
          {.kind = K::late_requests, .at_ms = from_ms + 1'500, .for_ms = 450, .amount = 40},
          {.kind = K::refuse_link, .at_ms = from_ms + 2'000, .for_ms = 450}};
}

/// Each fault has to be felt: bytes that waited, a process that was dead, a clock that was read.
/// Nothing that the run's lock promises is broken, and no process goes past the proxies.
inline void expect_each_takes_effect(const sim::Plan& plan, sim::live::LiveRun run) {
  std::set<std::string> past_proxies{"not asked"};
  run.on_progress = [&](const sim::live::Progress& now) { past_proxies = now.past_proxies; };
  const auto result = sim::live::run_live(plan, run);
  for (const auto& fault : plan.faults) {
    const std::string kind = to_string(fault.kind);
    EXPECT_EQ(result.took_effect.count(kind), 1u) << kind;
  }
  for (const auto& f : properties::judge(result.history, run.foreign->promises).findings) {
    EXPECT_TRUE(f.verdict == model::Verdict::holds || f.never_tested())
        << to_string(f.check) << ": " << f.why;
  }
  EXPECT_EQ(past_proxies, std::set<std::string>());
}

}  // namespace leasehold::lab
