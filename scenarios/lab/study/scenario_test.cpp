#include "properties/stories/scenario.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "properties/campaigns/simulate.hpp"

namespace leasehold::properties {
namespace {

const std::vector<Scenario>& stories() {
  static const auto all = read_scenarios(LEASEHOLD_SCENARIOS);
  return all;
}

TEST(Scenarios, AreAtLeastFortyInTheGroupsOfTheFailures) {
  EXPECT_GE(stories().size(), 40u);
  std::map<std::string, int> groups;
  for (const auto& s : stories()) ++groups[s.group];
  EXPECT_EQ(groups.size(), 6u);
}

TEST(Scenarios, EachSaysWhatWhyAndWhoReportedIt) {
  for (const auto& s : stories()) {
    EXPECT_NE(s.about.find("Why: "), std::string::npos) << s.name;
    EXPECT_NE(s.about.find("Reported: "), std::string::npos) << s.name;
    EXPECT_FALSE(s.locks.empty()) << s.name;
  }
}

/// A member whose clock jumps ahead stands for election by itself, before the fault; and nobody
/// connects anew while two-primaries-during-a-grant refuses it.
TEST(Scenarios, EachFaultTakesEffect) {
  std::set<std::string> idle;
  for (const auto& s : stories()) {
    const auto took_effect = simulate(s.plan).run.took_effect;
    for (const auto& fault : s.plan.faults) {
      const auto kind = sim::to_string(fault.kind);
      if (!took_effect.contains(kind)) idle.insert(s.name + ": " + kind);
    }
  }
  EXPECT_EQ(idle, (std::set<std::string>{
                      "successor-ahead-beyond-the-margin: step-up",
                      "successor-clock-ahead: step-up",
                      "successor-clock-ahead-and-the-holder-dead: step-up",
                      "two-primaries-during-a-grant: refuse-link",
                  }));
}

TEST(Scenarios, EachTellsTheStoryOfItsFile) {
  for (const auto& s : stories()) {
    EXPECT_EQ(render_expectation(s), s.expected)
        << s.name << ": leasehold-lab scenario run " << s.name << " --rewrite updates it";
  }
}

/// Nothing but the fault is to blame: each lock keeps its promises without it.
TEST(Scenarios, EachPassesWhenItsFaultIsTakenOut) {
  int blamed = 0;
  for (const auto& s : stories()) {
    for (const auto& lock : s.locks) {
      auto plan = without_fault(s.plan);
      plan.lock = lock;
      EXPECT_TRUE(broken_promises(lock, simulate(plan).judgement).empty())
          << s.name << " with " << lock;
      blamed += expected_verdict(s, lock).starts_with("violated") ? 1 : 0;
    }
  }
  EXPECT_GE(blamed, 20) << "stories in which a lock breaks a promise";
}

TEST(Scenarios, LeaseholdBreaksAPromiseOnlyWhereAnAssumptionIsBroken) {
  int beyond = 0;
  for (const auto& s : stories()) {
    const bool breaks_an_assumption = s.about.find("breaks an assumption") != std::string::npos;
    const bool breaks = expected_verdict(s, "leasehold").starts_with("violated");
    EXPECT_EQ(breaks, breaks_an_assumption) << s.name;
    beyond += breaks_an_assumption ? 1 : 0;
  }
  EXPECT_GE(beyond, 2);
}

TEST(Scenarios, AreReadBackAsTheyWereWritten) {
  for (const auto& s : stories()) {
    EXPECT_EQ(sim::plan_from_scn(sim::to_scn(s.plan)), s.plan) << s.name;
  }
}

}  // namespace
}  // namespace leasehold::properties
