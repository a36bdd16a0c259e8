#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "model/checkers.hpp"
#include "properties/plans.hpp"
#include "scenarios/lab/run_program.hpp"
#include "sim/conformance/conformance.hpp"
#include "sim/live/harness.hpp"
#include "sim/live/live_test.hpp"

namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;
using model::Event;
using model::Finding;
using model::History;
using model::Kind;
using model::Verdict;
using sim::FaultPlan;

/// Shared by the tests that inject faults.
sim::live::ReplicaSet& faulty_set() {
  static sim::live::ReplicaSet set({.faulty = true});
  return set;
}

const std::set<std::string> kProcessesOnly{"process"};
const std::set<std::string> kAllFaults{sim::fault_groups().begin(), sim::fault_groups().end()};

History run_plan(const sim::Plan& plan) {
  static sim::live::Janitor janitor;
  sim::live::LiveRun run;
  run.uri = faulty_set().uri();
  run.servers = &faulty_set();
  run.database = sim::live::fresh_database();
  run.janitor = &janitor;
  run.folder = janitor.folder();
  return sim::live::run_live(plan, run);
}

std::string explain(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& f : findings) {
    if (f.verdict != Verdict::holds) text += f.guarantee + ": " + f.why + '\n';
  }
  return text;
}

/// A good history, recorded once for the tests that spoil it.
const History& recorded() {
  static const History history = run_plan(properties::draw_plan(
      7, {.processes = 6, .locks = 2, .faulty_ms = 5'000, .groups = kProcessesOnly}));
  return history;
}

/// The first text's own lock walks the first text's diagrams, and its tokens start again.
TEST(LiveDocuments, DistributedLockWalksItsDiagramsAndItsTokensStartAgain) {
  auto plan = properties::draw_plan(
      11, {.processes = 6, .locks = 2, .faulty_ms = 5'000, .groups = kProcessesOnly});
  plan.lock = "distributed-lock";
  const auto history = run_plan(plan);
  const auto findings = model::judge(history, {});
  EXPECT_EQ(findings.at(0).verdict, Verdict::holds) << explain(findings);
  EXPECT_EQ(findings.at(4).verdict, Verdict::violated) << "G4";
  const auto conformance = sim::conform(history);
  EXPECT_EQ(conformance.finding.verdict, Verdict::holds) << conformance.finding.why;
  EXPECT_GT(conformance.finding.checked, 1'000);
}

RC_GTEST_PROP(LiveProperty, EveryGuaranteeHoldsInEveryDrawnRun, ()) {
  const auto plan = *properties::plans({.faulty_ms = 5'000, .groups = kAllFaults});
  const auto findings = model::judge(run_plan(plan), {});
  const auto takeovers =
      findings.at(1).counts.contains("takeovers") ? findings.at(1).counts.at("takeovers") : 0;
  RC_CLASSIFY(takeovers > 0, "takeovers");
  if (model::overall(findings) != Verdict::holds) std::printf("%s", explain(findings).c_str());
  RC_LOG() << to_scn(plan);
  RC_ASSERT(model::overall(findings) == Verdict::holds);
}

TEST(LiveTokens, RiseOverAThousandHandOversAndTenStepUpsEachItsWritesTime) {
  sim::Plan plan;
  plan.seed = 4;
  plan.locks = 1;
  plan.clock_margin_ms = 1'000;
  plan.faulty_ms = 40'000;
  sim::ProcessPlan process;
  process.expiry_ms = 600;
  process.wait_min_ms = 1;
  process.wait_max_ms = 20;
  process.hold_ms = 1;
  process.long_hold_percent = 0;
  plan.processes.assign(8, process);
  for (int i = 0; i < 10; ++i) {
    plan.faults.push_back({FaultPlan::Kind::step_up, 2'000 + i * 3'500, 0, i});
    plan.faults.push_back({FaultPlan::Kind::crash, 3'500 + i * 3'500, 0, i});
  }
  const auto findings = model::judge(run_plan(plan), {});
  EXPECT_EQ(model::overall(findings), Verdict::holds) << explain(findings);
  const Finding& tokens = findings.at(4);
  ASSERT_EQ(tokens.guarantee, "G4");
  EXPECT_GE(tokens.checked, 1'000);
  std::printf("%ld tokens of one name, %ld takeovers\n", static_cast<long>(tokens.checked),
              static_cast<long>(findings.at(1).counts.at("takeovers")));
}

TEST(LiveCheckers, APlantedOverlapOf20MsIsFound) {
  ASSERT_EQ(model::overall(model::judge(recorded(), {})), Verdict::holds)
      << explain(model::judge(recorded(), {}));
  History history = recorded();
  // The release of a holder is made to come 20 ms after the next one's grant.
  int planted = 0;
  for (auto& release : history) {
    if (release.kind != Kind::release) continue;
    for (const auto& next : history) {
      const bool follows = next.kind == Kind::granted && next.name == release.name &&
                           next.at_ns > release.at_ns &&
                           next.at_ns < release.at_ns + 200 * model::kMs;
      if (!follows) continue;
      release.at_ns = next.at_ns + 20 * model::kMs;
      ++planted;
      break;
    }
    if (planted > 0) break;
  }
  ASSERT_EQ(planted, 1);
  const auto findings = model::judge(history, {});
  EXPECT_EQ(findings.at(2).guarantee, "G2");
  EXPECT_EQ(findings.at(2).verdict, Verdict::violated);
  EXPECT_GE(findings.at(2).violations, 1);
}

/// How many of the spoiled histories are no longer *holds*; the rest are listed by kind.
struct Noticed {
  int tried = 0;
  int noticed = 0;
  std::map<std::string, int> equivalent;

  void count(const History& spoiled, Kind kind) {
    ++tried;
    if (model::overall(model::judge(spoiled, {})) != Verdict::holds) {
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

class RunFolder {
 public:
  RunFolder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~RunFolder() { fs::remove_all(path); }
  const std::string path = testing::TempDir() + "leasehold-verify-test-" + std::to_string(getpid());
};

TEST(LabVerify, TheCanaryIsCaughtWithItsEvents) {
  const RunFolder folder;
  const auto json_file = folder.path + "/out.json";
  const auto ran = run_program({LEASEHOLD_LAB_PROGRAM, "verify", "--lock", "canary", "--seconds",
                                "24", "--processes", "12", "--locks", "4", "--seed", "5", "--runs",
                                folder.path, "--json", json_file});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("G6 violated: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("deleted the lock of another"), std::string::npos);
  EXPECT_NE(ran.out.find("\"kind\":\"gone\""), std::string::npos) << "the events are shown";
  EXPECT_NE(ran.out.find("to repeat: leasehold-lab verify --seed 5 --case 0"), std::string::npos);
  std::ifstream in(json_file);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["verdict"], "violated");
  EXPECT_EQ(json["guarantees"]["G6"]["verdict"], "violated");
  EXPECT_TRUE(json["seed"].is_string());
  ASSERT_EQ(json["kept"].size(), 1u);
  const std::string kept = json["kept"][0];
  for (const char* file : {"/plan.scn", "/history.jsonl", "/verdict.txt"}) {
    EXPECT_TRUE(fs::exists(kept + file)) << file;
  }
  const auto again = run_program({LEASEHOLD_LAB_PROGRAM, "check", kept});
  EXPECT_EQ(again.exit_code, 1) << again.out;
}

TEST(LabVerify, KilledAtAnyTimeItLeavesNothingBehind) {
  const auto leftovers = [] {
    int found = 0;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) {
      if (entry.path().filename().string().starts_with("leasehold-")) ++found;
    }
    return found;
  };
  const RunFolder folder;
  const int before = leftovers();
  for (const int after_ms : {300, 1'500, 5'000}) {
    sim::live::ChildProcess lab({LEASEHOLD_LAB_PROGRAM, "verify", "--seconds", "20", "--processes",
                                 "4", "--runs", folder.path},
                                sim::live::ChildProcess::Io::nothing);
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    lab.kill();
    EXPECT_TRUE(sim::live::eventually([&] { return leftovers() <= before; }))
        << "killed after " << after_ms << " ms";
  }
}

/// Each with the story's own lock and with leasehold: the verdicts are those of the virtual world.
class LiveStory : public testing::TestWithParam<const char*> {};

/// A busy machine may upset a story's times, so one is told up to three times; leasehold has to
/// hold each time.
TEST_P(LiveStory, ComesOutAsInItsFile) {
  Ran ran;
  for (int attempt = 0; attempt < 3 && ran.exit_code != 0; ++attempt) {
    ran = run_program({LEASEHOLD_LAB_PROGRAM, "scenario", "run", GetParam(), "--world", "live"});
    std::printf("%s\n", ran.out.substr(0, ran.out.find('\n')).c_str());
    EXPECT_EQ(ran.out.find(" leasehold         violated"), std::string::npos) << ran.out;
  }
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
}

INSTANTIATE_TEST_SUITE_P(
    All, LiveStory,
    testing::Values("acquire-applied-reply-lost", "late-acquire-wins-after-its-caller-gave-up",
                    "extension-hangs", "holder-stopped-past-its-lease", "two-primaries",
                    "one-member-is-not-a-majority", "successor-clock-ahead",
                    "successor-clock-ahead-and-the-holder-dead", "primary-clock-jumps-forward",
                    "late-release-frees-the-next-holder"),
    [](const auto& tested) {
      std::string name = tested.param;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// What somebody types who wants to play.
TEST(LabCluster, IsStartedAskedSkewedAndEnded) {
  const RunFolder folder;
  const auto state = folder.path + "/cluster.json";
  const auto lab = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {LEASEHOLD_LAB_PROGRAM, "cluster"});
    words.insert(words.end(), {"--state", state});
    return run_program(words);
  };
  sim::live::ChildProcess up({LEASEHOLD_LAB_PROGRAM, "cluster", "up", "--state", state},
                             sim::live::ChildProcess::Io::nothing);
  ASSERT_TRUE(sim::live::eventually([&] { return fs::exists(state); }));
  EXPECT_EQ(lab({"up"}).exit_code, 64) << "one at a time";
  EXPECT_EQ(lab({"step-up", "1"}).exit_code, 0);
  EXPECT_EQ(lab({"skew", "2", "400"}).exit_code, 0);
  const auto status = lab({"status"});
  EXPECT_NE(status.out.find("member 2"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("clock +400 ms"), std::string::npos) << status.out;
  EXPECT_EQ(lab({"step-up", "3"}).exit_code, 64);
  EXPECT_EQ(lab({"down"}).exit_code, 0);
  EXPECT_TRUE(up.wait_ms(10'000));
  EXPECT_EQ(lab({"status"}).exit_code, 64);
}

/// Too short to tell growth, hence never "holds"; every guarantee is judged all the same.
TEST(Soak, MeasuresThoseThatAreNeverKilled) {
  const auto ran = run_program({LEASEHOLD_LAB_PROGRAM, "soak", "--minutes", "1", "--processes", "6",
                                "--locks", "3", "--seed", "4"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_NE(ran.out.find("too short"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("violated"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("\n0 processes lived"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace leasehold::lab

int main(int argc, char** argv) {
  // Live runs are few, at full size, and do not shrink.
  setenv("RC_PARAMS", "max_success=3 noshrink=1 max_size=100", 0);
  signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
