#include "properties/stories/scenario.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "model/verdict/checkers.hpp"
#include "properties/campaigns/campaign.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::properties {
namespace {

using model::Check;
using model::Scope;
using model::Verdict;

/// Small enough for a test: who needs more has a scope of its own (see `scope_for`).
constexpr std::uint64_t kMost = 1'000'000;

Scope scope_for(std::string_view variant) {
  if (variant.starts_with("reader")) return model::scope_named("readers-queue")->scope;
  Scope scope;
  const auto has = [&](std::string_view text) { return variant.find(text) != variant.npos; };
  if (has("hand-over")) scope.hand_overs = true;
  if (has("pass-on") || has("grant")) {
    scope.queue = 2;
    scope.failovers = false;
  }
  return scope;
}

struct Found {
  Scope scope;
  std::vector<model::Taken> way;
};

Found find(Scope scope, const model::Rules& rules, model::CheckSet guarantees) {
  scope.rules = rules;
  scope.guarantees = guarantees;
  model::ExploreOptions how;
  how.max_states = kMost;
  return {scope, model::explore(scope, how).way};
}

model::CheckSet violated(const sim::Plan& plan) {
  model::CheckSet all;
  const auto history = sim::simulated::run(plan).history;
  for (const auto& finding : judge(history).findings) {
    if (finding.verdict == Verdict::violated) all.insert(finding.check);
  }
  return all;
}

TEST(Counterexample, TheLockGetsThroughTheStoryOfEachVariant) {
  // They need more states than this test explores, or a client of the .NET package.
  const std::set<std::string_view> untold{
      "ended-owners-entry-accepted",    "lost-place-not-taken-anew",
      "observation-of-a-foreign-lock-id", "readers-dated-without-the-margin",
      "readers-and-older-writers-confused", "reader-is-a-writer-to-the-resource"};
  for (const auto& variant : model::variants()) {
    if (untold.contains(variant.name)) continue;
    SCOPED_TRACE(variant.name);
    auto rules = model::rules_of(model::Lock::leasehold);
    variant.change(rules);
    const auto found = find(scope_for(variant.name), rules, variant.breaks);
    ASSERT_FALSE(found.way.empty());
    const auto plan = counterexample_plan(found.scope, found.way, "leasehold");
    EXPECT_EQ(sim::plan_from_scn(to_scn(plan)), plan);
    EXPECT_TRUE(is_scripted(plan));
    EXPECT_EQ(violated(plan), model::CheckSet{}) << to_scn(plan);
  }
}

/// With the variant's own error planted, its story breaks what the variant breaks; and that of a
/// published lock shows its known fault.
TEST(Counterexample, WithItsErrorTheLockBreaks) {
  const auto breaks = [](const Scope& scope, const model::Rules& rules, Check check,
                         const char* lock) {
    const auto found = find(scope, rules, {check});
    return !found.way.empty() &&
           violated(counterexample_plan(found.scope, found.way, lock)).contains(check);
  };
  auto rules = model::rules_of(model::Lock::leasehold);
  rules.release_checks_owner = false;
  EXPECT_TRUE(breaks({}, rules, Check::G6, "canary"));
  // In a plan a command may wait inside a server no longer than its sender waits for it.
  Scope scope;
  scope.late_starts = false;
  EXPECT_TRUE(breaks(scope, model::rules_of(model::Lock::distributed_lock), Check::G1,
                     "distributed-lock"));
}

}  // namespace
}  // namespace leasehold::properties
