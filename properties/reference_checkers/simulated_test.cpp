#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "properties/campaigns/simulate.hpp"
#include "properties/reference_checkers/comparison.hpp"

/// The slow checkers on what the locks really do, the good one and two with planted errors.
namespace leasehold::properties {
namespace {

class SimulatedSlowCheckers : public testing::TestWithParam<std::string> {};

TEST_P(SimulatedSlowCheckers, Agree) {
  const bool sound = GetParam() == "leasehold";
  int violated = 0;
  // On until the planted error shows. The slow checkers are asked of the first runs and of those
  // that show it.
  constexpr std::uint64_t kFirst = 12;
  for (std::uint64_t seed = 1;
       seed <= kFirst || (!sound && violated == 0 && seed <= 100); ++seed) {
    const auto plan = draw_plan(
        seed, {.lock = GetParam(), .processes = {2, 4}, .locks = {1, 1}, .faulty_ms = 1'000});
    const auto one = simulate(plan);
    const bool shows = one.verdict() == model::Verdict::violated;
    violated += shows ? 1 : 0;
    if (seed > kFirst && !shows) continue;
    EXPECT_EQ(difference(one.run.history), "") << "seed " << seed;
  }
  EXPECT_EQ(violated == 0, sound);
}

TEST(SlowCheckersOfQueues, AgreeOnSimulatedRuns) {
  std::int64_t turns = 0;
  constexpr std::uint64_t kRuns = 24;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    PlanLimits limits{.processes = {3, 4}, .locks = {1, 1}, .faulty_ms = 1'000};
    limits.waitings = {sim::Waiting::queue};
    const auto one = simulate(draw_plan(seed, limits));
    EXPECT_EQ(difference(one.run.history), "") << "seed " << seed;
    turns += totals_of(one.run.history, one.judgement.findings)["queue_turns"];
  }
  std::printf("queues: compared in %d simulated runs with %d turns\n", static_cast<int>(kRuns),
              static_cast<int>(turns));
  EXPECT_GT(turns, 100);
}

INSTANTIATE_TEST_SUITE_P(Of, SimulatedSlowCheckers,
                         testing::Values("leasehold", "canary", "canary-extend"),
                         [](const auto& of) {
                           auto name = of.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace leasehold::properties
