#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "model/verdict/checkers.hpp"
#include "properties/campaigns/campaign.hpp"
#include "properties/generation/plans.hpp"
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

/// A good history, recorded once for the tests that spoil it.
const History& recorded() {
  static const History history = run_plan(drawn_plan(7, 6, 5'000, kProcessesOnly));
  return history;
}

/// The lock of "distributed-lock" walks its diagrams, and its tokens start again.
TEST(LiveDocuments, DistributedLockWalksItsDiagramsAndItsTokensStartAgain) {
  auto plan = drawn_plan(11, 6, 5'000, kProcessesOnly);
  plan.lock = "distributed-lock";
  const auto history = run_plan(plan);
  const auto findings = model::judge(model::digest(history));
  EXPECT_EQ(findings.at(0).verdict, Verdict::holds) << explain(findings);
  EXPECT_EQ(findings.at(4).verdict, Verdict::violated) << "G4";
  const auto arrows = model::accept(model::digest(history)).steps.front();
  EXPECT_EQ(arrows.verdict, Verdict::holds) << arrows.why;
  EXPECT_GT(arrows.checked, 1'000);
}

TEST(LivePermits, HoldUnderAllFaults) {
  auto plan = drawn_plan(5, 8, 10'000, properties::live_limits().groups);
  plan.locks = 1;
  for (auto& process : plan.processes) {
    process.permits = 3;
    process.together = process.reads_percent = 0;
    process.leads = false;
  }
  const auto history = run_plan(plan);
  const auto judged = properties::judge(history).findings;
  EXPECT_EQ(model::overall_tested(judged), Verdict::holds) << explain(judged);
  std::set<std::string> slots;
  std::int64_t granted = 0;
  for (const Event& e : history) {
    granted += e.kind == Kind::granted ? 1 : 0;
    if (e.kind == Kind::stored && e.name.starts_with("lock")) slots.insert(e.name);
  }
  EXPECT_EQ(slots, (std::set<std::string>{"lock-0#0", "lock-0#1", "lock-0#2"}));
  EXPECT_GT(granted, 50);
  std::cout << granted << " permits\n";
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

/// As many plans as the time allows, but a few on any machine, with the checks of `verify`; the
/// first that violates a guarantee is shrunk, for as long again.
TEST(LiveProperty, EveryGuaranteeHoldsInEveryDrawnRun) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kTime{45};
  constexpr int kLeastRuns = 3;
  auto limits = properties::live_limits();
  limits.faulty_ms = 5'000;
  auto end = Clock::now() + kTime;
  int runs = 0, takeovers = 0;
  bool violated = false;
  std::string unknown;
  const bool held = rc::check([&] {
    const auto plan = *properties::plans(limits);
    if (Clock::now() > end && (violated || runs >= kLeastRuns)) return;
    const auto history = run_plan(plan);
    const auto [findings, arrows] = properties::judge(history);
    ++runs;
    takeovers += findings.at(1).counts.contains("takeovers") ? 1 : 0;
    // In five seconds nothing may be lost: what was never asked is not the run's fault. No more is
    // what a busy machine leaves open the lock's.
    const auto found = model::overall_tested(findings);
    const bool open = std::ranges::any_of(findings, [](const Finding& f) {
      return f.verdict == Verdict::unknown && !f.never_tested() && !f.only_stalled();
    });
    if (open && !violated) unknown += explain(findings);
    // What shrinks does less and less.
    EXPECT_TRUE(violated || findings.at(2).checked > 0) << "exclusion\n" << to_scn(plan);
    if (found != Verdict::violated) return;
    if (!std::exchange(violated, true)) end = Clock::now() + kTime;
    properties::keep_run(testing::TempDir() + "leasehold-generated-run", plan, history, findings,
                         faulty_set().log_files());
    RC_FAIL(explain(findings));
  });
  EXPECT_TRUE(held) << "kept in " << testing::TempDir() << "leasehold-generated-run";
  EXPECT_EQ(unknown, "");
  EXPECT_GE(runs, kLeastRuns);
  EXPECT_GT(takeovers, 0);
  std::printf("%d runs, %d with takeovers; RapidCheck counts cases without a run as passed\n", runs,
              takeovers);
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
    const auto findings = model::judge(model::digest(run_plan(plan)));
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

/// The last yes of one holder, and its release, are made to come 20 ms after the next one's first.
void plant_overlap(History& history) {
  constexpr auto kOverlap = 20 * model::kMs;
  const auto yes = [](const Event& e) { return e.kind == Kind::held && e.outcome == "yes"; };
  std::erase_if(history, [&](const Event& e) { return e.kind == Kind::held && !yes(e); });
  for (auto& last : history) {
    const auto next = std::find_if(history.begin(), history.end(), [&](const Event& e) {
      return yes(last) && yes(e) && e.name == last.name && e.process != last.process &&
             e.first_answered_ns > last.last_asked_ns &&
             e.first_answered_ns < last.last_asked_ns + 500 * model::kMs &&
             e.last_asked_ns > e.first_answered_ns + kOverlap;
    });
    if (!yes(last) || next == history.end()) continue;
    const auto end = next->first_answered_ns + kOverlap;
    for (auto& e : history) {
      const bool ends = e.kind == Kind::release || e.kind == Kind::released;
      const bool same = e.process == last.process && e.session == last.session;
      if (ends && same) e.at_ns = std::max(e.at_ns, end);
    }
    last.last_asked_ns = end;
    last.at_ns = std::max(last.at_ns, end);
    std::stable_sort(history.begin(), history.end(),
                     [](const Event& a, const Event& b) { return a.at_ns < b.at_ns; });
    return;
  }
  FAIL() << "no hand-over to spoil";
}

TEST(LiveCheckers, APlantedOverlapOf20MsIsFound) {
  ASSERT_EQ(model::overall_tested(model::judge(model::digest(recorded()))), Verdict::holds)
      << explain(model::judge(model::digest(recorded())));
  History history = recorded();
  plant_overlap(history);
  const auto findings = model::judge(model::digest(history));
  EXPECT_EQ(findings.at(2).check, model::Check::G2);
  EXPECT_EQ(findings.at(2).verdict, Verdict::violated) << explain(findings);
  EXPECT_NE(findings.at(2).why.find("at once for"), std::string::npos) << findings.at(2).why;
}

/// How many of the spoiled histories are no longer *holds*; the rest are listed by kind.
struct Noticed {
  int tried = 0;
  int noticed = 0;
  std::map<std::string, int> equivalent;

  void count(const History& spoiled, Kind kind) {
    ++tried;
    if (model::overall_tested(model::judge(model::digest(spoiled))) != Verdict::holds) {
      ++noticed;
    } else {
      ++equivalent[model::to_string(kind)];
    }
  }
  void expect_most(const char* what) const {
    std::printf("%s: %d of %d noticed; equivalent:", what, noticed, tried);
    for (const auto& [kind, n] : equivalent) std::printf(" %d %s", n, kind.c_str());
    std::printf("\n");
    EXPECT_GE(noticed * 10, tried * 9) << what;
  }
};

TEST(LiveCheckers, ASpoiledHistoryNoLongerHolds) {
  const History& good = recorded();
  const std::size_t step = std::max<std::size_t>(good.size() / 400, 1);
  Noticed dropped, doubled, swapped;
  for (std::size_t i = 1; i + 1 < good.size(); i += step) {
    // Nobody has to ask, the answer to a release may never come, and what was slow only excuses.
    const auto kind = good[i].kind;
    if (kind == Kind::held || kind == Kind::released) continue;
    if (kind == Kind::slow || kind == Kind::stall || kind == Kind::congestion) continue;
    if (kind == Kind::no_majority || kind == Kind::resume) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    History spoiled = good;
    spoiled.erase(spoiled.begin() + at);
    dropped.count(spoiled, good[i].kind);
    spoiled = good;
    spoiled.insert(spoiled.begin() + at, good[i]);
    doubled.count(spoiled, good[i].kind);
    spoiled = good;
    std::swap(spoiled[i], spoiled[i + 1]);
    if (spoiled[i].at_ns != spoiled[i + 1].at_ns) swapped.count(spoiled, good[i].kind);
  }
  dropped.expect_most("dropped");
  doubled.expect_most("doubled");
  swapped.expect_most("swapped");
}

}  // namespace
}  // namespace leasehold::lab
