#include "properties/guided/guided_plans.hpp"

#include <gtest/gtest.h>

#include "properties/guided/abstract_states.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::properties {
namespace {

using States = std::set<std::uint16_t>;

TEST(GuidedPlans, WhatReachedSomethingNewIsKept) {
  GuidedPlans plans({}, 1);
  const auto plan = plans.next();
  plans.add(plan, {1, 2});
  plans.add(plan, {2, 1});
  plans.add(plan, {2, 3});
  EXPECT_EQ(plans.kept(), 2u);
  EXPECT_EQ(plans.situations(), 3u);
}

/// All are new to it; so it soon changes what it has.
std::vector<sim::Plan> many(GuidedPlans& plans) {
  std::vector<sim::Plan> made;
  for (std::uint16_t i = 0; i < 200; ++i) {
    made.push_back(plans.next());
    plans.add(made.back(), {i});
  }
  return made;
}

TEST(GuidedPlans, EachIsSoundAndTheSameAgain) {
  GuidedPlans one({}, 7), same({}, 7), another({}, 8);
  const auto plans = many(one);
  EXPECT_EQ(plans, many(same));
  EXPECT_NE(plans, many(another));
  for (const auto& plan : plans) EXPECT_EQ(sim::unsound(plan), "");
}

TEST(GuidedPlans, MostAreChangedFromOneThatWasKept) {
  GuidedPlans plans({}, 1);
  const auto made = many(plans);
  int changed = 0;
  for (auto plan = made.begin() + 20; plan != made.end(); ++plan) {
    changed += std::any_of(made.begin(), plan, [&](const sim::Plan& earlier) {
      return earlier.processes == plan->processes || earlier.faults == plan->faults;
    });
  }
  EXPECT_GT(changed, 100);
}

/// In runs as many.
TEST(GuidedPlans, TheyReachMoreThanUnrelatedSeeds) {
  constexpr int kRuns = 400;
  GuidedPlans plans({}, 1);
  States blind;
  for (int i = 1; i <= kRuns; ++i) {
    const auto plan = plans.next();
    plans.add(plan, AbstractStates::of(sim::simulated::run(plan).history));
    blind.merge(AbstractStates::of(
        sim::simulated::run(draw_plan(static_cast<std::uint64_t>(i), {})).history));
  }
  EXPECT_GT(plans.situations(), blind.size());
}

}  // namespace
}  // namespace leasehold::properties
