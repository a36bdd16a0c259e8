#include "model/spec/exploration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "model/spec/diagrams.hpp"

namespace leasehold::model {
namespace {

std::string test_name(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '-' || c == ' '; }, '_');
  return text;
}

LockExploration explore_up_to(const Scope& scope, std::uint64_t max_states) {
  ExploreOptions options;
  options.max_states = max_states;
  return explore(scope, options);
}

class CompleteScope : public testing::TestWithParam<NamedScope> {};

TEST_P(CompleteScope, TheLockHoldsInEveryState) {
  const auto found = explore(GetParam().scope);
  EXPECT_EQ(found.verdict, Verdict::holds) << found.why;
  EXPECT_EQ(found.states, GetParam().states);
  const Scope& scope = GetParam().scope;
  EXPECT_EQ(found.reached, kAllSituations - (scope.failovers ? 0 : kWriteMayBeRolledBack) -
                               (scope.queue > 0 ? 0 : kQueueHasAnEntry + kWaiterNotified) -
                               (scope.readers > 1 ? 0 : kReadersShare));
}

INSTANTIATE_TEST_SUITE_P(All, CompleteScope, testing::ValuesIn(standard_scopes()),
                         [](const auto& tested) { return test_name(tested.param.name); });

/// The smallest named one in which it can err, with its rules.
Scope scope_of(const Variant& variant) {
  const auto says = [&](std::string_view word) {
    return variant.name.find(word) != std::string_view::npos;
  };
  const bool queues = says("pass-on") || says("grant") || says("entry");
  Scope scope = scope_named(says("without-the-m") ? "readers-failover"
                            : says("older-w")   ? "readers-older"
                            : says("reader")    ? "readers-queue"
                            : says("foreign")   ? "mixed"
                            : says("hand-over") ? "hand-over"
                            : queues            ? "queue"
                                                : "two-clients")
                    ->scope;
  variant.change(scope.rules);
  return scope;
}

/// The other breaks what comes about eventually.
std::vector<Variant> variants_of_what_always_holds() {
  auto all = variants();
  std::erase_if(all, [](const Variant& v) { return v.name == "lost-place-not-taken-anew"; });
  return all;
}

class WrongVariant : public testing::TestWithParam<Variant> {};

TEST_P(WrongVariant, BreaksAGuaranteeNamedBeforehandInANamedScope) {
  const Scope scope = scope_of(GetParam());
  const auto found = explore_up_to(scope, 2'000'000);
  ASSERT_EQ(found.verdict, Verdict::violated) << found.why;
  const auto broken = check_named(found.why.substr(0, 2));
  EXPECT_TRUE(broken && GetParam().breaks.contains(*broken)) << found.why;
  EXPECT_LE(found.story.size(), 15u);
  EXPECT_EQ(found.story.size(), found.depth) << "breadth-first: a shortest one";
}

INSTANTIATE_TEST_SUITE_P(All, WrongVariant, testing::ValuesIn(variants_of_what_always_holds()),
                         [](const auto& tested) { return test_name(tested.param.name); });

/// A waiting client cannot tell lost from slow, so messages are lost only once no client waits.
TEST_P(WrongVariant, IsRefutedAsShortlyWithoutTheLossesThatNobodyCanTell) {
  Scope scope = scope_of(GetParam());
  const auto all = explore_up_to(scope, 2'000'000);
  scope.losses_late = true;
  const auto late = explore_up_to(scope, 2'000'000);
  EXPECT_EQ(late.verdict, Verdict::violated) << late.why;
  EXPECT_EQ(late.story.size(), all.story.size());
  EXPECT_LE(late.states, all.states);
}

class HarmlessVariant : public testing::TestWithParam<Variant> {};

TEST_P(HarmlessVariant, BreaksNothingInAnyStateOfAShorterQueue) {
  Scope scope = scope_named("queue")->scope;
  scope.queue = 1;
  GetParam().change(scope.rules);
  const auto found = explore(scope);
  EXPECT_EQ(found.verdict, Verdict::holds) << found.why;
}

INSTANTIATE_TEST_SUITE_P(All, HarmlessVariant, testing::ValuesIn(harmless_variants()),
                         [](const auto& tested) { return test_name(tested.param.name); });

class KnownFaultOf : public testing::TestWithParam<KnownFault> {};

TEST_P(KnownFaultOf, IsShownInAtMostTwelveSteps) {
  Scope scope;
  scope.rules = rules_of(GetParam().lock);
  scope.guarantees = {GetParam().guarantee};
  const auto found = explore_up_to(scope, 1'000'000);
  ASSERT_EQ(found.verdict, Verdict::violated) << GetParam().fault;
  EXPECT_EQ(found.why.substr(0, 2), to_string(GetParam().guarantee));
  EXPECT_LE(found.story.size(), 12u);
}

INSTANTIATE_TEST_SUITE_P(All, KnownFaultOf, testing::ValuesIn(known_faults()),
                         [](const auto& tested) {
                           return test_name(name_of(tested.param.lock)) + "_" +
                                  to_string(tested.param.guarantee);
                         });

/// The rows of the README's table: a scope, then for G1 to G5 the variant that breaks it there.
std::vector<std::vector<std::string>> sensitivity_table() {
  std::vector<std::vector<std::string>> rows;
  std::ifstream readme(LEASEHOLD_MODEL_README);
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    const bool heading = line.starts_with("| scope |");
    inside = heading || (inside && line.starts_with("|"));
    if (!inside || heading || line.starts_with("|--")) continue;
    std::istringstream cells(line.substr(1));
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '|');) {
      rows.back().push_back(cell.substr(1, cell.size() - 2));
    }
  }
  return rows;
}

TEST(LockSystem, EachGuaranteeCanBeBrokenInEachScopeThatTheReadmeSays) {
  const auto table = sensitivity_table();
  std::set<std::string> rows, empty;
  for (const auto& row : table) {
    ASSERT_EQ(row.size(), 6u) << row.front();
    rows.insert(row.front());
    for (std::size_t g = 1; g <= 5; ++g) {
      const auto guarantee = check_named("G" + std::to_string(g)).value();
      if (row[g] == "-") {
        empty.insert(row.front() + ' ' + to_string(guarantee));
        continue;
      }
      const auto* variant = variant_named(row[g]);
      ASSERT_NE(variant, nullptr) << row[g];
      Scope scope = scope_named(row.front())->scope;
      variant->change(scope.rules);
      scope.guarantees = {guarantee};
      const auto found = explore_up_to(scope, 500'000);
      EXPECT_EQ(found.verdict, Verdict::violated) << row.front() << ", " << to_string(guarantee);
      EXPECT_EQ(found.why.substr(0, 2), to_string(guarantee)) << row.front();
    }
  }
  for (const auto* scopes : {&standard_scopes(), &partial_scopes()}) {
    for (const auto& scope : *scopes) EXPECT_TRUE(rows.contains(std::string(scope.name)));
  }
  EXPECT_EQ(empty, (std::set<std::string>{"mixed G2", "mixed G3", "permits G1", "permits G3",
                                          "permits-queue G1", "permits-queue G3"}))
      << "one client of ours, or none that excludes another";
}

TEST(LockSystem, AnExplorationHasAVerdictOfEachGuarantee) {
  Exploration found;
  found.verdict = Verdict::holds;
  const auto mixed = verdicts(scope_named("mixed")->scope, found);
  EXPECT_EQ(mixed.at(Check::G1), Verdict::holds);
  EXPECT_EQ(mixed.at(Check::G2), Verdict::unknown);
  EXPECT_EQ(mixed.at(Check::G3), Verdict::unknown);
  found.verdict = Verdict::violated;
  found.why = "G4: a token did not rise";
  Scope some;
  some.guarantees = {Check::G3, Check::G4};
  EXPECT_EQ(verdicts(some, found), (std::map<Check, Verdict>{{Check::G3, Verdict::unknown},
                                                             {Check::G4, Verdict::violated}}));
}

TEST(LockSystem, ScopesTooLargeToFinishAreUnknownWithTheirDepth) {
  for (const auto& [name, scope, states] : partial_scopes()) {
    const auto found = explore_up_to(scope, 300'000);
    EXPECT_EQ(found.verdict, Verdict::unknown) << name << ": " << found.why;
    EXPECT_GE(found.depth, 11u) << name;
    EXPECT_NE(found.why.find("behaviour of up to " + std::to_string(found.depth - 1)),
              std::string::npos)
        << found.why;
  }
}

/// An empty answer of the stream says what the old primary has, which knows nothing of the grant.
TEST(LockSystem, ADeadlineFromTheLastReadOfTheStreamBreaksItBesideAStalePrimary) {
  Scope scope = scope_named("queue-stale-primary")->scope;
  variant_named("grant-counted-from-the-last-read-of-the-stream")->change(scope.rules);
  scope.guarantees = {Check::G5};
  const auto found = explore_up_to(scope, 4'000'000);
  EXPECT_EQ(found.verdict, Verdict::violated) << found.why;
}

/// Errors that a lock without readers may have, too.
TEST(LockSystem, AnErrorOfAWriterBreaksALockThatReadersShare) {
  const auto breaks = [](const char* variant, Check guarantee) {
    Scope scope = scope_named("readers-turns")->scope;
    variant_named(variant)->change(scope.rules);
    scope.guarantees = {guarantee};
    const auto found = explore_up_to(scope, 2'000'000);
    EXPECT_EQ(found.verdict, Verdict::violated) << variant << ": " << found.why;
  };
  breaks("beat-kept-by-an-extension", Check::G1);
  breaks("grant-counted-from-the-notice", Check::G2);
  breaks("grant-dated-by-the-release-alone", Check::G1);
}

TEST(LockSystem, AClockAheadByMoreThanTheMarginBreaksIt) {
  const auto found = explore_up_to({.skew = 2}, 100'000);
  EXPECT_EQ(found.verdict, Verdict::violated);
  EXPECT_EQ(found.why.substr(0, 2), "G1");
}

TEST(LockSystem, TheFenceHoldsWithoutAMargin) {
  Scope scope;
  scope.clock_margin = 0;
  scope.guarantees = {Check::G3, Check::G4};
  EXPECT_EQ(explore(scope).verdict, Verdict::holds);
}

TEST(LockSystem, TakesEveryArrowOfTheDocuments) {
  const auto taken = arrows_of(explore_up_to(Scope{}, 3'000'000).labels);
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
  EXPECT_THROW(static_cast<void>(explore(scope)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(explore({.dotnet = true, .readers = 2})), std::invalid_argument)
      << "the package's client writes";
}

/// All faults but failovers, which make the space fifty times larger.
const Scope kSmall{.failovers = false};

/// It comes about in spite of them, and there is something to wait for.
void expect_to_come(const Scope& scope, Promise promise, std::uint64_t pending_states = 10'000) {
  const auto found = explore(scope, promise);
  EXPECT_EQ(found.verdict, Verdict::holds)
      << found.cycle_states << " states form a cycle after " << testing::PrintToString(found.story);
  EXPECT_GT(found.pending_states, pending_states);
}

TEST(Eventually, ADeadHoldersLockPassesOn) { expect_to_come(kSmall, Promise::passes_on); }

TEST(Eventually, ADeadHoldersDocumentGoes) { expect_to_come(kSmall, Promise::cleans_up); }

TEST(Eventually, WithoutATtlMonitorTheDocumentStays) {
  Scope scope = kSmall;
  scope.ttl_passes = false;
  EXPECT_EQ(explore(scope, Promise::cleans_up).verdict, Verdict::violated);
  EXPECT_EQ(explore(scope, Promise::passes_on).verdict, Verdict::holds)
      << "never required for correctness";
}

TEST(Eventually, ALockThatLivesByTheTtlMonitorHangsWithoutIt) {
  Scope scope = kSmall;
  scope.rules = rules_of(Lock::insert_unique);
  EXPECT_EQ(explore(scope, Promise::passes_on).verdict, Verdict::holds);
  scope.ttl_passes = false;
  const auto found = explore(scope, Promise::passes_on);
  EXPECT_EQ(found.verdict, Verdict::violated);
  EXPECT_FALSE(found.story.empty());
}

/// Somebody crashes or gives up, and the TTL monitor takes the document away under the queue.
Scope small_queue() {
  Scope scope = kSmall;
  scope.losses = scope.late_starts = false;
  scope.queue = 1;
  return scope;
}

TEST(EventuallyOfAQueue, AWaiterGetsTheLockThoughTheQueueIsLost) {
  expect_to_come(small_queue(), Promise::passes_on, 1'000'000);
}

TEST(EventuallyOfAQueue, AGrantToADeadWaiterIsCleanedUp) {
  expect_to_come(small_queue(), Promise::cleans_up, 0);
}

TEST(EventuallyOfAQueue, AReaderAndAWriterGetTheLockInTurn) {
  expect_to_come(scope_named("readers-turns")->scope, Promise::passes_on, 100'000);
}

TEST(EventuallyOfAQueue, AWaiterThatNeverRejoinsALostQueueWaitsForEver) {
  Scope scope = small_queue();
  scope.crashes = false;
  variant_named("lost-place-not-taken-anew")->change(scope.rules);
  const auto found = explore(scope, Promise::passes_on);
  EXPECT_EQ(found.verdict, Verdict::violated);
  EXPECT_FALSE(found.story.empty());
}

}  // namespace
}  // namespace leasehold::model
