#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "properties/campaigns/simulate.hpp"
#include "properties/stories/scenario.hpp"
#include "sim/plan/plan_fields.hpp"

/// scenarios/SCN.md, the page about the language of plans and stories: whether it is true.
namespace leasehold::properties {
namespace {

std::vector<std::string> blocks_of_the_page() {
  std::ifstream page(LEASEHOLD_SCENARIOS "/SCN.md");
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    } else if (line == "```scn") {
      inside = true;
      blocks.emplace_back();
    }
  }
  return blocks;
}

const std::vector<Scenario>& examples() {
  static const auto all = [] {
    std::vector<Scenario> read;
    const auto file = std::filesystem::path(testing::TempDir()) / "example_of_scn_page.scn";
    for (const auto& block : blocks_of_the_page()) {
      std::ofstream(file) << block;
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

/// Those that say so break what they say, and no other breaks anything.
TEST(ScnPage, EachExampleDoesWhatItSays) {
  int reproduced = 0;
  for (const auto& example : examples()) {
    const auto judgement = simulate(example.plan).judgement;
    EXPECT_EQ(to_string(not_reproduced(example, judgement)), "") << example.head;
    if (!example.reproduces.empty()) ++reproduced;
    const bool breaks_assumption = example.head.find("fault drop-collection") != std::string::npos;
    if (example.reproduces.empty() && !breaks_assumption) {
      EXPECT_EQ(to_string(broken_promises(example.plan.lock, judgement)), "") << example.head;
    }
  }
  EXPECT_EQ(reproduced, 2);
}

/// A fault that hits nothing would be no example.
TEST(ScnPage, EachFaultOfAnExampleTakesEffect) {
  for (const auto& example : examples()) {
    const auto run = simulate(example.plan).run;
    for (const auto& fault : example.plan.faults) {
      EXPECT_TRUE(run.took_effect.contains(sim::to_string(fault.kind)))
          << sim::to_string(fault.kind) << " in\n"
          << example.head;
    }
  }
}

}  // namespace
}  // namespace leasehold::properties
