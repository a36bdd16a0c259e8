#include "model/lock_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/lock_scopes.hpp"
#include "model/transition_table.hpp"

namespace leasehold::model {
namespace {

std::string test_name(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '-' || c == ' '; }, '_');
  return text;
}

Exploration explore(const Scope& scope, std::uint64_t max_states = 100'000'000) {
  ExploreOptions options;
  options.max_states = max_states;
  const LockSystem system(scope);
  return Explorer<LockSystem>(system, options).run();
}

class CompleteScope : public testing::TestWithParam<NamedScope> {};

TEST_P(CompleteScope, TheLockHoldsInEveryState) {
  const auto found = explore(GetParam().scope);
  EXPECT_EQ(found.verdict, Verdict::holds) << found.why;
  EXPECT_EQ(found.states, GetParam().states);
  EXPECT_LE(found.bytes / found.states, 60u);
  const std::uint64_t all = (1u << LockSystem::sometimes().size()) - 1;
  const std::uint64_t rollback = 8;
  EXPECT_EQ(found.reached, GetParam().scope.failovers ? all : all - rollback);
}

INSTANTIATE_TEST_SUITE_P(All, CompleteScope, testing::ValuesIn(standard_scopes()),
                         [](const auto& tested) { return test_name(tested.param.name); });

class WrongVariant : public testing::TestWithParam<Variant> {};

TEST_P(WrongVariant, BreaksAGuaranteeNamedBeforehandInAStandardScope) {
  const bool foreign = GetParam().name == std::string_view("observation-of-a-foreign-lock-id");
  const bool hands_over = GetParam().name.starts_with("hand-over");
  Scope scope = scope_named(foreign ? "mixed" : hands_over ? "hand-over" : "two-clients")->scope;
  GetParam().change(scope.rules);
  const auto found = explore(scope, 2'000'000);
  ASSERT_EQ(found.verdict, Verdict::violated) << found.why;
  EXPECT_NE(GetParam().breaks.find(found.why.substr(0, 2)), std::string_view::npos) << found.why;
  EXPECT_LE(found.story.size(), 15u);
  EXPECT_EQ(found.story.size(), found.depth) << "breadth-first: a shortest one";
}

INSTANTIATE_TEST_SUITE_P(All, WrongVariant, testing::ValuesIn(variants()),
                         [](const auto& tested) { return test_name(tested.param.name); });

class KnownFaultOf : public testing::TestWithParam<KnownFault> {};

TEST_P(KnownFaultOf, IsShownInAtMostTwelveSteps) {
  Scope scope;
  scope.rules = rules_of(GetParam().lock);
  scope.guarantees = guarantees_named(GetParam().guarantee);
  const auto found = explore(scope, 1'000'000);
  ASSERT_EQ(found.verdict, Verdict::violated) << GetParam().fault;
  EXPECT_EQ(found.why.substr(0, 2), GetParam().guarantee);
  EXPECT_LE(found.story.size(), 12u);
}

INSTANTIATE_TEST_SUITE_P(All, KnownFaultOf, testing::ValuesIn(known_faults()),
                         [](const auto& tested) {
                           return test_name(name_of(tested.param.lock)) + "_" +
                                  std::string(tested.param.guarantee);
                         });

TEST(LockSystem, AClockAheadByMoreThanTheMarginBreaksIt) {
  Scope beyond, none;
  beyond.skew = 2;
  none.clock_margin = 0;
  for (const auto& scope : {beyond, none}) {
    const auto found = explore(scope, 100'000);
    EXPECT_EQ(found.verdict, Verdict::violated) << describe(scope);
    EXPECT_EQ(found.why.substr(0, 2), "G1");
  }
}

TEST(LockSystem, TheFenceHoldsWithoutAMargin) {
  Scope scope;
  scope.clock_margin = 0;
  scope.guarantees = guarantees_named("G3 G4");
  EXPECT_EQ(explore(scope).verdict, Verdict::holds);
}

TEST(LockSystem, WithoutAMajorityTheFenceFailsToo) {
  for (const auto* guarantee : {"G1", "G2", "G3", "G4"}) {
    Scope scope;
    scope.stale_primary = true;
    scope.rules.majority = false;
    scope.guarantees = guarantees_named(guarantee);
    const auto found = explore(scope, 1'000'000);
    EXPECT_EQ(found.verdict, Verdict::violated) << guarantee;
    EXPECT_EQ(found.why.substr(0, 2), guarantee);
  }
}

TEST(LockSystem, TakesEveryArrowOfTheDocuments) {
  const LockSystem system{Scope{}};
  ExploreOptions options;
  options.max_states = 3'000'000;
  Explorer<LockSystem>(system, options).run();
  const auto names = system.arrows_taken();
  const std::set<std::string> taken(names.begin(), names.end());
  for (const auto* table : all_tables()) {
    for (const auto& arrow : table->arrows()) {
      const std::string name = std::string(table->name()) + ": " + arrow.name();
      EXPECT_TRUE(arrow.source == Source::reality || taken.contains(name)) << name;
    }
  }
}

TEST(LockSystem, RefusesAScopeWhoseStatesDoNotFit) {
  Scope scope;
  scope.clients = 3;
  scope.messages = 2;
  EXPECT_THROW(LockSystem{scope}, std::invalid_argument);
}

}  // namespace
}  // namespace leasehold::model
