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
#include "properties/judgement.hpp"
#include "properties/plans.hpp"
#include "properties/run_folder.hpp"
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
    if (f.verdict != Verdict::holds)
      text += std::string(to_string(f.guarantee)) + ": " + f.why + '\n';
  }
  return text;
}

/// A good history, recorded once for the tests that spoil it.
const History& recorded() {
  static const History history = run_plan(properties::draw_plan(
      7, {.processes = 6, .locks = 2, .faulty_ms = 5'000, .groups = kProcessesOnly}));
  return history;
}

/// The lock of "distributed-lock" walks its diagrams, and its tokens start again.
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

/// Three processes that nothing befalls.
sim::Plan quiet_plan() {
  return properties::draw_plan(3, {.processes = 3, .locks = 2, .faulty_ms = 2'000, .groups = {}});
}

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
  for (const int signal : {SIGKILL, SIGABRT}) {
    const auto history = run_plan(quiet_plan(), [&](sim::live::LiveRun& run) {
      run.on_start = [signal, first = true](pid_t pid) mutable {
        if (std::exchange(first, false)) kill(pid, signal);
      };
    });
    const auto exit = only_exit(history);
    EXPECT_EQ(exit.process, "p0.1");
    EXPECT_EQ(exit.outcome, "killed");
    EXPECT_EQ(exit.signal, signal);
    expect_harness_failure(history, "p0.1 killed by signal " + std::to_string(signal));
  }
}

TEST(LiveHarness, AWorkerThatEndsByItselfLeavesItsStatusAndLastWords) {
  const auto history = run_plan(quiet_plan(), [](sim::live::LiveRun& run) {
    run.folder += "/unreadable";
    fs::create_directories(run.folder + "/p1.1.order");  // no file that a worker can read
  });
  const auto exit = only_exit(history);
  EXPECT_EQ(exit.process, "p1.1");
  EXPECT_EQ(exit.outcome, "exited");
  EXPECT_EQ(exit.exit_status, 2);
  EXPECT_NE(exit.message.str().find("leasehold-worker: "), std::string::npos) << exit.message.str();
  expect_harness_failure(history,
                         "p1.1 exited with status 2 although the harness had not stopped it");
}

/// Those whose command line contains it.
std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(in), {}};
    if (line.find(text) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
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
  EXPECT_EQ(exit.victim.str(), "member-2");
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

RC_GTEST_PROP(LiveProperty, EveryGuaranteeHoldsInEveryDrawnRun, ()) {
  const auto plan = *properties::plans({.faulty_ms = 5'000, .groups = kAllFaults});
  const auto history = run_plan(plan);
  const auto findings = model::judge(history, {});
  const auto takeovers =
      findings.at(1).counts.contains("takeovers") ? findings.at(1).counts.at("takeovers") : 0;
  RC_CLASSIFY(takeovers > 0, "takeovers");
  // In five seconds nothing may be lost: what was never asked is not the run's fault.
  const auto found = model::overall_tested(findings);
  if (found != Verdict::holds) {
    const auto folder = testing::TempDir() + "leasehold-generated-run";
    properties::keep_run(folder, plan, history, findings, &faulty_set());
    std::printf("%skept in %s\n", explain(findings).c_str(), folder.c_str());
  }
  RC_LOG() << to_scn(plan);
  RC_ASSERT(found == Verdict::holds);
  RC_ASSERT(findings.at(2).checked > 0);  // exclusion
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
  // The plan is for the tokens: short of them, what it did not put to the test is not its fault.
  EXPECT_EQ(model::overall_tested(findings), Verdict::holds) << explain(findings);
  const Finding& tokens = findings.at(4);
  ASSERT_EQ(tokens.guarantee, model::Guarantee::G4);
  EXPECT_GE(tokens.checked, 1'000);
  EXPECT_GT(findings.at(1).counts.at("takeovers"), 0);
  std::printf("%ld tokens of one name, %ld takeovers\n", static_cast<long>(tokens.checked),
              static_cast<long>(findings.at(1).counts.at("takeovers")));
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
  ASSERT_EQ(model::overall_tested(model::judge(recorded(), {})), Verdict::holds)
      << explain(model::judge(recorded(), {}));
  History history = recorded();
  plant_overlap(history);
  const auto findings = model::judge(history, {});
  EXPECT_EQ(findings.at(2).guarantee, model::Guarantee::G2);
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
    if (model::overall_tested(model::judge(spoiled, {})) != Verdict::holds) {
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
    if (good[i].kind == Kind::held) continue;  // nobody has to ask
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

TEST(LabVerify, AWorkerThatDiesIsNoVerdictOfTheLock) {
  const RunFolder folder;
  const auto json_file = folder.path + "/out.json";
  sim::live::ChildProcess lab({LEASEHOLD_LAB_PROGRAM, "verify", "--seconds", "20", "--processes",
                               "4", "--faults", "none", "--runs", folder.path, "--json", json_file},
                              sim::live::ChildProcess::Io::nothing);
  std::vector<pid_t> workers;
  const auto is_of_the_lab = [&](pid_t pid) {
    constexpr std::size_t kParent = 1;
    const auto stat = sim::live::kernel_stat(pid);
    return stat.size() > kParent && stat[kParent] == std::to_string(lab.pid());
  };
  ASSERT_TRUE(sim::live::eventually([&] {
    workers = processes_with("/p0.1.order");
    std::erase_if(workers, [&](pid_t pid) { return !is_of_the_lab(pid); });
    return !workers.empty();
  }));
  kill(workers.front(), SIGSEGV);
  ASSERT_TRUE(lab.wait_ms(60'000));
  EXPECT_EQ(WEXITSTATUS(lab.exit_status()), 70);
  std::ifstream in(json_file);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["verdict"], "harness failure");
  EXPECT_TRUE(json["harness_failure"].get<std::string>().starts_with("p0.1 killed by signal 11"));
}

/// As somebody has it: no fail points, a TTL monitor that runs once a minute, no fault proxy.
class OrdinarySet {
 public:
  OrdinarySet() {
    const auto ports = sim::live::free_ports(3);
    sim::live::Json members = sim::live::Json::array();
    for (const int port : ports) {
      const auto data = janitor_.folder() + "/" + std::to_string(port);
      fs::create_directories(data);
      members_.emplace_back(
          std::vector<std::string>{sim::live::find_mongod(), "--replSet", "rs", "--port",
                                   std::to_string(port), "--bind_ip", "127.0.0.1", "--dbpath", data,
                                   "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25"},
          sim::live::ChildProcess::Io::nothing);
      janitor_.watch(members_.back().pid());
      members.push_back({{"_id", members.size()}, {"host", sim::live::address_of(port)}});
      uri += (members.size() == 1 ? "" : ",") + sim::live::address_of(port);
    }
    const auto direct = "mongodb://" + sim::live::address_of(ports[0]) + "/?directConnection=true";
    sim::live::until_true("starting an ordinary set", [&] {
      return sim::live::MongoClient(direct).must(
                 "admin", {{"replSetInitiate", {{"_id", "rs"}, {"members", members}}}}),
             true;
    });
    uri += "/?replicaSet=rs";
    sim::live::until_true("a primary", [&] {
      return sim::live::MongoClient(uri).must("admin", {{"ping", 1}}), true;
    });
  }
  [[nodiscard]] std::string databases() const {
    return sim::live::MongoClient(uri)
        .must("admin", {{"listDatabases", 1}, {"nameOnly", true}})
        .dump();
  }

  std::string uri = "mongodb://";

 private:
  sim::live::Janitor janitor_;
  std::vector<sim::live::ChildProcess> members_;
};

OrdinarySet& ordinary_set() {
  static OrdinarySet set;
  return set;
}

TEST(LabVerifyUri, OnAnOrdinarySetNothingIsViolatedAndNothingIsLeft) {
  const RunFolder folder;
  const auto json_file = folder.path + "/out.json";
  const auto ran =
      run_program({LEASEHOLD_LAB_PROGRAM, "verify", "--uri", ordinary_set().uri, "--seconds", "20",
                   "--processes", "5", "--runs", folder.path, "--json", json_file});
  EXPECT_TRUE(ran.exit_code == 0 || ran.exit_code == 2) << ran.exit_code << ran.out;
  std::ifstream in(json_file);
  const auto json = nlohmann::json::parse(in);
  for (const auto& [guarantee, found] : json["guarantees"].items()) {
    EXPECT_NE(found["verdict"], "violated") << guarantee << found;
  }
  EXPECT_EQ(json["guarantees"]["G8"]["verdict"], "unknown");
  EXPECT_NE(ran.out.find("the TTL monitor runs once in 60 s here, so it needs --seconds 106"),
            std::string::npos)
      << ran.out;
  const std::string hash = json["plans_hash"];
  EXPECT_NE(ran.out.find("1 plans " + hash), std::string::npos) << ran.out;
  EXPECT_EQ(ordinary_set().databases().find("leasehold_verify"), std::string::npos);
}

TEST(LabVerifyUri, InterruptedItLeavesNoDatabase) {
  const RunFolder folder;
  sim::live::ChildProcess lab({LEASEHOLD_LAB_PROGRAM, "verify", "--uri", ordinary_set().uri,
                               "--seconds", "60", "--processes", "3", "--runs", folder.path},
                              sim::live::ChildProcess::Io::nothing);
  ASSERT_TRUE(sim::live::eventually(
      [&] { return ordinary_set().databases().find("leasehold_verify") != std::string::npos; }));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  lab.send_signal(SIGINT);
  ASSERT_TRUE(lab.wait_ms(120'000));
  EXPECT_EQ(ordinary_set().databases().find("leasehold_verify"), std::string::npos);
}

TEST(LabVerifyUri, WhatASetLacksIsSaidBeforeAnythingRuns) {
  sim::live::ReplicaSet standalone({.members = 1, .standalone = true});
  auto ran = run_program({LEASEHOLD_LAB_PROGRAM, "verify", "--uri", standalone.uri()});
  EXPECT_EQ(ran.exit_code, 64) << ran.out;
  EXPECT_NE(ran.out.find("it is no member of a replica set: start it with --replSet"),
            std::string::npos)
      << ran.out;
  ran = run_program({LEASEHOLD_LAB_PROGRAM, "verify", "--uri", "mongodb://127.0.0.1:1/"});
  EXPECT_EQ(ran.exit_code, 69) << ran.out;
  EXPECT_NE(ran.out.find("no primary of mongodb://127.0.0.1:1/"), std::string::npos) << ran.out;
}

/// Each with the story's own lock and with leasehold: the verdicts are those of the virtual world.
class LiveStory : public testing::TestWithParam<const char*> {};

/// A busy machine may upset a story's times, so one is run up to three times, and the report says
/// how often; leasehold has to hold each time.
TEST_P(LiveStory, ComesOutAsInItsFile) {
  const RunFolder folder;
  const auto json_file = folder.path + "/out.json";
  const auto ran = run_program({LEASEHOLD_LAB_PROGRAM, "scenario", "run", GetParam(), "--world",
                                "live", "--tries", "3", "--json", json_file});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  std::ifstream in(json_file);
  const auto json = nlohmann::json::parse(in);
  for (const auto& one : json["stories"]) {
    const auto lock = one["lock"].get<std::string>();
    const int tries = one["tries"];
    RecordProperty(lock + " tries", tries);
    std::printf("%s: try %d of 3\n", lock.c_str(), tries);
  }
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

/// Too short to tell growth, hence never "holds"; every guarantee is checked all the same.
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
