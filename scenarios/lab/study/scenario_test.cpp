#include "properties/stories/scenario.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "properties/campaigns/campaign.hpp"
#include "sim/plan/plan_fields.hpp"

namespace leasehold::properties {
namespace {

const std::vector<Scenario>& stories() {
  static const auto all = read_scenarios(LEASEHOLD_SCENARIOS);
  return all;
}

TEST(Scenarios, EachSaysWhatWhyAndWhoReportedIt) {
  EXPECT_GE(stories().size(), 40u);
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

/// scenarios/SCN.md, the page about the language of plans and stories: whether it is true.
const std::vector<Scenario>& examples() {
  static const auto all = [] {
    std::vector<Scenario> read;
    std::ifstream in(LEASEHOLD_SCENARIOS "/SCN.md");
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    const auto file = std::filesystem::path(testing::TempDir()) / "example_of_scn_page.scn";
    const std::regex block("```scn\n([^`]*)```");
    for (std::sregex_iterator one(page.begin(), page.end(), block), end; one != end; ++one) {
      std::ofstream(file) << (*one)[1];
      read.push_back(read_scenario(file));
    }
    std::filesystem::remove(file);
    return read;
  }();
  return all;
}

/// Without its comments: what the language itself says.
std::string all_lines() {
  std::string text;
  for (const auto& example : examples()) {
    std::istringstream lines(example.head);
    for (std::string line; std::getline(lines, line);)
      text += line.substr(0, line.find('#')) + "\n";
  }
  return text;
}

void expect_word(const std::string& text, const std::string& word) {
  EXPECT_NE(text.find(word), std::string::npos) << "SCN.md has no example with '" << word << "'";
}

TEST(ScnPage, HasAnExampleOfEveryWord) {
  const auto text = all_lines();
  expect_word(text, "lock leasehold");
  expect_word(text, "seed ");
  sim::fields::of_plan(
      [&](const char* word, auto&&...) { expect_word(text, word + std::string(" ")); });
  const auto field = [&](const char* word, auto&&...) {
    expect_word(text, " " + std::string(word) + "=");
  };
  sim::fields::of_process(field);
  sim::fields::of_fault(field);
  sim::fields::of_step(field);
  for (int w = 0; w < sim::kWaitings; ++w) {
    expect_word(text, std::string("waiting=") + sim::to_string(static_cast<sim::Waiting>(w)));
  }
  for (const auto kind : sim::fault_kinds(sim::Harm::assumption)) {
    expect_word(text, std::string("fault ") + sim::to_string(kind) + " ");
  }
  for (const auto action : {sim::StepPlan::Action::acquire, sim::StepPlan::Action::write,
                            sim::StepPlan::Action::release, sim::StepPlan::Action::cancel}) {
    expect_word(text, std::string("step ") + sim::to_string(action) + " ");
  }
}

/// Those that say so break what they say, and no other breaks anything. A fault that hits nothing
/// would be no example.
TEST(ScnPage, EachExampleDoesWhatItSays) {
  int reproduced = 0;
  for (const auto& example : examples()) {
    const auto [run, judgement] = simulate(example.plan);
    EXPECT_EQ(to_string(not_reproduced(example, judgement)), "") << example.head;
    if (!example.reproduces.empty()) ++reproduced;
    const bool breaks_assumption = example.head.find("fault drop-collection") != std::string::npos;
    if (example.reproduces.empty() && !breaks_assumption) {
      EXPECT_EQ(to_string(broken_promises(example.plan.lock, judgement)), "") << example.head;
    }
    for (const auto& fault : example.plan.faults) {
      EXPECT_TRUE(run.took_effect.contains(sim::to_string(fault.kind)))
          << sim::to_string(fault.kind) << " in\n" << example.head;
    }
  }
  EXPECT_EQ(reproduced, 2);
}

}  // namespace
}  // namespace leasehold::properties
