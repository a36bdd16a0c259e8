#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "model/verdict/checkers.hpp"
#include "properties/campaigns/judgement.hpp"
#include "properties/generation/plan_generator.hpp"
#include "scenarios/lab/ran_fixture.hpp"
#include "sim/live/live_test.hpp"
#include "sim/live/run/harness.hpp"

namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;
using model::Event;
using model::Finding;
using model::History;
using model::Kind;
using model::Verdict;
using sim::FaultPlan;
using sim::live::faulty_set;

const std::set<std::string> kProcessesOnly{"process"};

History run_plan(const sim::Plan& plan,
                 const std::function<void(sim::live::LiveRun&)>& change = {}) {
  static sim::live::Janitor janitor;
  auto run = sim::live::LiveRun::on(faulty_set(), sim::live::fresh_database(), janitor);
  if (change) change(run);
  return sim::live::run_live(plan, run).history;
}

std::string explain(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& f : findings) {
    if (f.verdict != Verdict::holds) {
      text += std::string(to_string(f.check)) + ": " + f.why + '\n';
    }
  }
  return text;
}

/// A live plan of two locks.
sim::Plan drawn_plan(std::uint64_t seed, int processes, std::int64_t faulty_ms,
                     std::set<std::string> groups) {
  auto limits = properties::live_limits();
  limits.processes = {processes, processes};
  limits.locks = {2, 2};
  limits.faulty_ms = faulty_ms;
  limits.groups = std::move(groups);
  return properties::draw_plan(seed, limits);
}

/// The lock of "distributed-lock" walks its diagrams, and its tokens start again.
TEST(LiveDocuments, DistributedLockWalksItsDiagramsAndItsTokensStartAgain) {
  auto plan = drawn_plan(11, 6, 5'000, kProcessesOnly);
  plan.lock = "distributed-lock";
  const auto history = run_plan(plan);
  const auto findings = model::judge(history, {});
  EXPECT_EQ(findings.at(0).verdict, Verdict::holds) << explain(findings);
  EXPECT_EQ(findings.at(4).verdict, Verdict::violated) << "G4";
  const auto arrows = model::accept(model::digest(history)).steps.front();
  EXPECT_EQ(arrows.verdict, Verdict::holds) << arrows.why;
  EXPECT_GT(arrows.checked, 1'000);
}

TEST(LivePermits, HoldUnderAllFaults) {
  auto plan = drawn_plan(5, 8, 10'000, properties::live_limits().groups);
  plan.locks = 1;
  for (auto& process : plan.processes) process.permits = 3;
  const auto history = run_plan(plan);
  const auto judged = properties::judge(history).findings;
  EXPECT_EQ(model::overall_tested(judged), Verdict::holds) << explain(judged);
  std::set<std::string> slots;
  std::int64_t granted = 0, refused = 0;
  for (const Event& e : history) {
    if (e.kind != Kind::permit_end) continue;
    if (e.outcome == "granted") slots.insert(e.name);
    ++(e.outcome == "granted" ? granted : refused);
  }
  EXPECT_EQ(slots, (std::set<std::string>{"lock-0#0", "lock-0#1", "lock-0#2"}));
  EXPECT_GT(granted, 50);
  std::cout << granted << " permits, " << refused << " calls without one\n";
}

/// Three processes that nothing befalls.
sim::Plan quiet_plan() { return drawn_plan(3, 3, 2'000, {}); }

Event only_exit(const History& history) {
  std::vector<Event> exits;
  std::copy_if(history.begin(), history.end(), std::back_inserter(exits),
               [](const Event& e) { return e.kind == Kind::exit; });
  EXPECT_EQ(exits.size(), 1u);
  return exits.empty() ? Event() : exits.front();
}

/// Nobody's history holds in which a process died that the harness had not killed.
void expect_harness_failure(const History& history, const std::string& sentence) {
  const auto findings = properties::judge(history).findings;
  EXPECT_EQ(model::overall_tested(findings), Verdict::unknown) << explain(findings);
  EXPECT_TRUE(model::harness_failure(history).starts_with(sentence))
      << model::harness_failure(history);
}

TEST(LiveHarness, AWorkerThatSomebodyElseKillsIsAHarnessFailure) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    const auto history = run_plan(quiet_plan(), [&](sim::live::LiveRun& run) {
      run.on_start = [signal, first = true](pid_t pid) mutable {
        if (std::exchange(first, false)) kill(pid, signal);
      };
    });
    const auto exit = only_exit(history);
    EXPECT_EQ(exit.process, "p0.1");
    EXPECT_EQ(exit.outcome, "ended at its start");
    EXPECT_EQ(exit.signal, signal);
    expect_harness_failure(history,
                           "p0.1 ended at its start by signal " + std::to_string(signal));
  }
}

TEST(LiveHarness, AWorkerThatCannotStartLeavesItsStatusAndLastWords) {
  const auto history = run_plan(quiet_plan(), [](sim::live::LiveRun& run) {
    run.folder += "/unreadable";
    fs::create_directories(run.folder + "/p1.1.order");  // no file that a worker can read
  });
  const auto exit = only_exit(history);
  EXPECT_EQ(exit.process, "p1.1");
  EXPECT_EQ(exit.outcome, "ended at its start");
  EXPECT_EQ(exit.exit_status, 2);
  EXPECT_NE(exit.message.find("leasehold-worker: "), std::string::npos) << exit.message;
  expect_harness_failure(
      history, "p1.1 ended at its start with status 2 although the harness had not stopped it");
}

TEST(LiveHarness, AMemberThatSomebodyElseKillsIsAHarnessFailure) {
  const auto data = "--dbpath" + std::string(1, '\0') + faulty_set().folder() + "/" +
                    std::to_string(faulty_set().mongod(2).port());
  const auto history = run_plan(quiet_plan(), [&](sim::live::LiveRun& run) {
    run.on_start = [&, first = true](pid_t) mutable {
      if (!std::exchange(first, false)) return;
      const auto members = processes_with(data);
      ASSERT_EQ(members.size(), 1u);
      kill(members.front(), SIGKILL);
    };
  });
  const auto exit = only_exit(history);
  EXPECT_EQ(exit.victim, "member-2");
  EXPECT_FALSE(exit.message.empty()) << "the end of its log";
  expect_harness_failure(history, "member-2 killed by signal 9");
  EXPECT_TRUE(faulty_set().mongod(2).answers()) << "for the tests after this one";
}

/// Found by a sanitized run on CI: with nobody to hit, replies were lost on the links of no name,
/// by which a starting member asks which address is its own. It waits 30 s for the answer.
TEST(LiveHarness, AFaultOfALinkThatFindsNobodyLeavesStartingMembersAlone) {
  auto plan = quiet_plan();
  plan.processes.resize(1);
  plan.faulty_ms = 4'000;
  plan.faults = {{FaultPlan::Kind::pause, 500, 3'000},
                 {FaultPlan::Kind::lost_replies, 700, 3'000},
                 {FaultPlan::Kind::kill_all, 800, 300}};
  const auto history = run_plan(plan);
  const auto heal = std::find_if(history.begin(), history.end(),
                                 [](const Event& e) { return e.kind == Kind::heal; });
  ASSERT_NE(heal, history.end());
  EXPECT_LT(heal->at_ns - history.front().at_ns, 25'000'000'000);
}

TEST(LiveTokens, RiseOverAThousandHandOversAndTenStepUpsEachItsWritesTime) {
  sim::Plan plan{.seed = 4, .locks = 1, .clock_margin_ms = 1'000, .faulty_ms = 40'000};
  plan.processes.assign(8, {.expiry_ms = 600,
                            .wait_min_ms = 1,
                            .wait_max_ms = 20,
                            .hold_ms = 1,
                            .long_hold_percent = 0});
  for (int i = 0; i < 10; ++i) {
    plan.faults.push_back({FaultPlan::Kind::step_up, 2'000 + i * 3'500, 0, i});
    plan.faults.push_back({FaultPlan::Kind::crash, 3'500 + i * 3'500, 0, i});
  }
  std::int64_t tokens = 0, takeovers = 0;
  // A slow machine needs more than one run for as many.
  for (int runs = 0; runs < 5 && tokens < 1'000; ++runs, ++plan.seed) {
    const auto findings = model::judge(run_plan(plan), {});
    // The plan is for the tokens: short of them, what it did not put to the test is not its fault.
    ASSERT_EQ(model::overall_tested(findings), Verdict::holds) << explain(findings);
    ASSERT_EQ(findings.at(4).check, model::Check::G4);
    tokens += findings.at(4).checked;
    takeovers += findings.at(1).counts.at("takeovers");
  }
  EXPECT_GE(tokens, 1'000);
  EXPECT_GT(takeovers, 0);
  std::printf("%ld tokens of one name, %ld takeovers\n", static_cast<long>(tokens),
              static_cast<long>(takeovers));
}

}  // namespace
}  // namespace leasehold::lab
