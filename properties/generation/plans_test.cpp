#include "properties/generation/plans.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace leasehold::properties {
namespace {

using sim::FaultPlan;

bool has_pause(const sim::Plan& plan) {
  return std::ranges::count(plan.faults, FaultPlan::Kind::pause, &FaultPlan::kind) > 0;
}

TEST(Plans, ASeedOfALiveRunStandsForAValueOfTheGenerator) {
  const auto drawn = plans(live_limits())(rc::Random(7)).value();
  EXPECT_EQ(draw_plan(7, live_limits()), drawn);
  EXPECT_NE(draw_plan(8, live_limits()), drawn);
  EXPECT_GT(entries(drawn), 10u);
}

TEST(Plans, ASeedHasAllTheNumbersThatItsPlanReads) {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    auto numbers = numbers_of(seed);
    const auto plan = plan_from(numbers, {});
    numbers.resize(numbers.size() + 1'000, 12'345);
    EXPECT_EQ(plan_from(numbers, {}), plan) << "seed " << seed;
  }
}

TEST(Plans, EachShrinkIsSoundAndAnotherPlanAndNoneIsLarger) {
  const auto drawn = plans(live_limits())(rc::Random(7));
  int seen = 0;
  for (auto shrinks = drawn.shrinks(); auto next = shrinks.next(); ++seen) {
    const auto plan = next->value();
    EXPECT_EQ(sim::unsound(plan), "");
    EXPECT_NE(plan, drawn.value());
    EXPECT_LE(entries(plan), entries(drawn.value()));
  }
  EXPECT_GT(seen, 20);
}

TEST(Plans, AFailureOfOneFaultAndTwoProcessesShrinksToThreeEntries) {
  const auto fails = [](const sim::Plan& plan) {
    return has_pause(plan) && plan.processes.size() >= 2;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto drawn = draw_plan(seed, live_limits());
    ASSERT_TRUE(fails(drawn));
    int asked = 0;
    const auto smallest = minimise(drawn, [&](const sim::Plan& plan) {
      ++asked;
      return fails(plan);
    });
    EXPECT_EQ(entries(smallest), 3u) << to_scn(smallest);
    EXPECT_EQ(smallest.locks, 1);
    EXPECT_LT(asked, 200) << "of " << entries(drawn) << " entries";
  }
}

TEST(Plans, LikelyPlansAreTriedFirstAndShrunkToo) {
  const auto drawn = draw_plan(7, live_limits());
  auto likely = drawn;
  likely.processes.resize(3);
  auto unlikely = likely;
  unlikely.faults.clear();
  std::vector<sim::Plan> asked;
  const auto smallest = minimise(
      drawn,
      [&](const sim::Plan& plan) {
        asked.push_back(plan);
        return has_pause(plan);
      },
      {unlikely, likely});
  ASSERT_GT(asked.size(), 2u);
  EXPECT_EQ(asked[0], unlikely);
  EXPECT_EQ(asked[1], likely);
  EXPECT_EQ(asked[2].processes.size(), 3u) << "a shrink of the whole plan has more";
  EXPECT_EQ(smallest.faulty_ms, likely.faulty_ms);
  EXPECT_EQ(entries(smallest), 2u) << to_scn(smallest);
}

/// The step that another names, and the process that a step names, are not taken out alone.
TEST(Plans, AScriptedPlanKeepsItsProcesses) {
  sim::Plan plan;
  plan.processes.assign(2, {.scripted = true});
  for (std::int64_t i = 0; i < 6; ++i) plan.steps.push_back({.at_ms = 100 * i, .process = i % 2});
  const auto smallest = minimise(plan, [](const sim::Plan& p) {
    return std::ranges::count(p.steps, 1, &sim::StepPlan::process) > 0;
  });
  EXPECT_EQ(smallest.processes.size(), 2u);
  EXPECT_EQ(smallest.steps.size(), 1u);
}

/// RapidCheck itself shrinks to the same.
TEST(Plans, AFailingPropertyEndsWithTheSmallestPlan) {
  sim::Plan smallest;
  EXPECT_FALSE(rc::check("a property that fails on purpose", [&] {
    const auto plan = *plans(live_limits());
    if (has_pause(plan)) smallest = plan;
    RC_ASSERT(!has_pause(plan));
  }));
  EXPECT_EQ(entries(smallest), 2u) << to_scn(smallest);
}

}  // namespace
}  // namespace leasehold::properties
