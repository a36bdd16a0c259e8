#include "properties/simulate.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>

namespace leasehold::properties {
namespace {

using model::Verdict;

std::string explain(const Simulated& one) {
  std::string text;
  for (const auto& f : one.judged.findings) {
    if (f.verdict != Verdict::holds) text += f.guarantee + ": " + f.why + '\n';
  }
  return text;
}

/// Any vector of numbers is a plan, so RapidCheck shrinks plans by shrinking numbers to zero.
RC_GTEST_PROP(VirtualProperty, EveryGuaranteeHoldsInEveryDrawnRun, ()) {
  constexpr int kFullSize = 100;
  const auto numbers = *rc::gen::resize(
      kFullSize, rc::gen::container<Numbers>(300, rc::gen::arbitrary<std::uint32_t>()));
  const auto plan = plan_from(numbers, {.faulty_ms = 3'000});
  const auto one = simulate(plan);
  RC_CLASSIFY(!plan.faults.empty(), "faults");
  RC_CLASSIFY(one.run.bitten.contains("elections"), "elections");
  RC_LOG() << sim::to_scn(plan) << explain(one);
  RC_ASSERT(one.verdict() == Verdict::holds);
}

RC_GTEST_PROP(VirtualProperty, EveryPlanIsReadBack, (const Numbers& numbers)) {
  const auto plan = plan_from(numbers, {});
  RC_ASSERT(sim::plan_from_scn(sim::to_scn(plan)) == plan);
}

SimulateReport simulate_seeds(std::uint64_t from, std::uint64_t to, const DrawnLimits& limits) {
  SimulateReport report;
  for (std::uint64_t seed = from; seed <= to; ++seed) {
    const auto plan = plan_from(numbers_of(seed), limits);
    report.add(seed, plan, simulate(plan), true);
  }
  return report;
}

TEST(Simulate, HoldsOverManySeedsWithEveryFaultFelt) {
  const auto report = simulate_seeds(1, 400, {});
  for (const auto& f : report.findings) EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
  EXPECT_EQ(report.shortfall(), "");
  EXPECT_EQ(report.enabled.size(), static_cast<std::size_t>(sim::kFaultKinds));
  for (const char* what : {"elections", "rolled-back", "ttl-deletions", "wtimeouts"}) {
    EXPECT_GT(report.bitten.at(what), 0) << what;
  }
  EXPECT_GT(report.totals.at("takeovers"), 100);
  EXPECT_GT(report.totals.at("stale_writes"), 10);
}

TEST(Simulate, TheSameSeedsGiveTheSameHash) {
  EXPECT_EQ(simulate_seeds(1, 5, {}).hash, simulate_seeds(1, 5, {}).hash);
  EXPECT_NE(simulate_seeds(1, 5, {}).hash, simulate_seeds(2, 6, {}).hash);
}

/// A run that reads the machine's clock, on purpose: two runs of it part, and the place is named.
TEST(Simulate, ALeakOfRealTimeIsNamedByItsFirstEvent) {
  const auto part = [](const std::string& lock) {
    const auto plan = plan_from(numbers_of(1), {.lock = lock});
    return sim::virt::first_difference(sim::virt::run(plan).history, sim::virt::run(plan).history);
  };
  EXPECT_EQ(part("leasehold"), "");
  const auto difference = part("canary-clock");
  EXPECT_TRUE(difference.starts_with("line ")) << difference;
  EXPECT_NE(difference.find("at_ns"), std::string::npos) << difference;
  EXPECT_NE(difference.find(" against "), std::string::npos) << difference;
}

class Canary : public testing::TestWithParam<const char*> {};

TEST_P(Canary, IsFoundAndReducedToAFewEntries) {
  const DrawnLimits limits{.lock = GetParam()};
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto plan = plan_from(numbers_of(seed), limits);
    const auto breaks = [](const sim::Plan& candidate) {
      return model::overall(simulate(candidate).judged.findings) == Verdict::violated;
    };
    if (!breaks(plan)) continue;
    const auto small = minimise(plan, breaks);
    EXPECT_TRUE(breaks(sim::plan_from_scn(sim::to_scn(small))));
    EXPECT_LE(entries(small), 10u) << sim::to_scn(small);
    EXPECT_LT(entries(small), entries(plan));
    return;
  }
  FAIL() << "not found in 100 seeds";
}

INSTANTIATE_TEST_SUITE_P(All, Canary, testing::Values("canary", "canary-extend"),
                         [](const auto& tested) {
                           return std::string(tested.param) == "canary" ? "deletes" : "extends";
                         });

TEST(Simulate, BelowItsFloorsARunIsUnknown) {
  SimulateReport report;
  EXPECT_EQ(report.shortfall(), "nothing ran");
  sim::Plan idle;
  idle.processes.resize(1);
  idle.processes[0].hold_ms = 2'000;
  idle.faulty_ms = 200;
  report.add(1, idle, simulate(idle), false);
  EXPECT_NE(report.shortfall().find("acquisitions, the floor is 20"), std::string::npos);
  EXPECT_EQ(report.verdict(), Verdict::unknown);
}

}  // namespace
}  // namespace leasehold::properties
