#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "model/workers/promises.hpp"
#include "scenarios/lab/campaigns/foreign_run_fixture.hpp"
#include "scenarios/lab/ran_fixture.hpp"
#include "sim/live/live_test.hpp"
#include "sim/live/stores/scripted_servers.hpp"

/// A lock service that is not MongoDB: the template of a user's own, which needs no package.
namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;
using sim::live::ChildProcess;
using sim::live::eventually;
using sim::live::ScriptedServers;
using sim::live::StoreScript;
using std::chrono::milliseconds;

/// A copy of the template, as its user makes one, and a folder for what runs leave.
class Copied {
 public:
  Copied() {
    fs::remove_all(folder);
    fs::create_directories(temporary);
    fs::copy(LEASEHOLD_STORES "/template", folder, fs::copy_options::recursive);
  }
  ~Copied() { fs::remove_all(folder); }
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;

  void change(const std::string& file, const std::string& line, const std::string& by) const {
    auto text = content_of(folder + "/" + file);
    const auto at = text.find(line);
    ASSERT_NE(at, std::string::npos) << "the template has it no more";
    std::ofstream(folder + "/" + file) << text.replace(at, line.size(), by);
  }

  [[nodiscard]] std::string store() const { return folder + "/store"; }
  [[nodiscard]] std::string worker() const { return "/usr/bin/python3 " + folder + "/worker.py"; }
  [[nodiscard]] model::Promises promises() const {
    return model::promises_from_json(content_of(folder + "/promises.json"));
  }
  [[nodiscard]] std::vector<std::string> verify(const std::vector<std::string>& more) const {
    std::vector<std::string> words{
        "env", "TMPDIR=" + temporary, LEASEHOLD_LAB_PROGRAM, "verify", "--store", store(),
        "--worker", worker(), "--promises", folder + "/promises.json", "--processes", "4",
        "--locks", "2", "--runs", folder + "/runs"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const std::string folder =
      testing::TempDir() + "leasehold-store-test-" + std::to_string(getpid());
  const std::string temporary = folder + "/tmp";
};

TEST(Stores, ASoundLockHoldsUnderAllFaultsThatItsStoreHas) {
  const Copied copy;
  const auto json_file = copy.folder + "/out.json";
  const auto ran = run_program(
      copy.verify({"--seconds", "40", "--seed", "5", "--floors", "10", "--json", json_file}),
      kLongProgram);
  EXPECT_TRUE(ended(ran, 0, "left out, for template 1 cannot have them: step-up, "));
  const auto json = json_of(json_file);
  EXPECT_EQ(json["store"], "template 1");
  EXPECT_EQ(json["guarantees"]["G3"]["verdict"], "holds") << "without an oplog";
  EXPECT_GT(json["fenced_writes"], 10);
  EXPECT_TRUE(fs::is_empty(copy.temporary));
}

TEST(Stores, ALockThatIsGrantedToTwoIsFound) {
  const Copied copy;
  copy.change("server.py", "time.monotonic() < ends[name]:", "time.monotonic() < 0:");
  const auto ran = run_program(
      copy.verify({"--seconds", "20", "--faults", "none", "--until-violated", "--floors", "10"}),
      kLongProgram);
  EXPECT_TRUE(ended(ran, 1, "G2 violated: "));
}

TEST(Stores, EachFaultTakesEffectAndTheMemberComesBack) {
  using K = sim::FaultPlan::Kind;
  const Copied copy;
  ScriptedServers servers(std::make_shared<StoreScript>(copy.store()));
  sim::live::Janitor janitor;
  auto run = sim::live::LiveRun::on(servers, sim::live::fresh_database(), janitor);
  run.foreign = sim::live::ForeignLock{copy.worker(), copy.promises()};
  auto plan = busy_plan(3, 7'500, faults_of_links(1'000));
  plan.faults.insert(plan.faults.end(),
                     {{.kind = K::clock_jump, .at_ms = 3'500, .amount = 400},
                      {.kind = K::stop_member, .at_ms = 4'000, .for_ms = 500},
                      {.kind = K::kill_member, .at_ms = 5'000, .for_ms = 500}});
  expect_each_takes_effect(plan, std::move(run));
  EXPECT_TRUE(servers.reachable(0));
  EXPECT_TRUE(servers.all_have_all_data());
}

TEST(Stores, AWorkerThatDoesNotUseItsUriIsNoticed) {
  const Copied copy;
  const auto json_file = copy.folder + "/out.json";
  copy.change("worker.py", "# >>> YOUR LOCK", R"(def real_port():
    import glob
    for file in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(file).read().split("\0")
        except OSError:
            continue
        if words[1:2] == [__file__.replace("worker.py", "server.py")]:
            return words[2]


# >>> YOUR LOCK)");
  copy.change("worker.py", R"(uri.removeprefix("lock://").split(":"))",
              R"("127.0.0.1", real_port())");
  const auto ran = run_program(
      copy.verify({"--seconds", "4", "--faults", "none", "--json", json_file}), kLongProgram);
  EXPECT_TRUE(has(ran, "past the proxies, where no fault of a link reaches them: p0.1, p1.1, "));
  EXPECT_EQ(json_of(json_file)["past_proxies"].size(), 4u);
}

/// The story's own lock does not run.
TEST(Stores, AStoryRunsOnAnotherStore) {
  const Copied copy;
  const auto story = copy.folder + "/story.scn";
  std::ofstream(story) << "locks 2\nfaulty 6000\nprocess expiry=1000\nprocess expiry=1000\n"
                          "fault cut-link at=2000 for=800\n";
  const auto ran = run_program({"env", "TMPDIR=" + copy.temporary, LEASEHOLD_LAB_PROGRAM,
                                "scenario", "run", story, "--store", copy.store(), "--worker",
                                copy.worker(), "--promises", copy.folder + "/promises.json"},
                               kLongProgram);
  EXPECT_TRUE(ended(ran, 0, "1 stories: as expected"));
  EXPECT_TRUE(fs::is_empty(copy.temporary));
}

bool serves(const Copied& copy) { return !processes_with(copy.folder + "/server.py").empty(); }

TEST(Stores, KilledAtAnyTimeItLeavesNothingBehind) {
  const Copied copy;
  int left_something = 0;
  for (const int after_ms : {200, 1'500, 5'000}) {
    ChildProcess lab(copy.verify({"--seconds", "20"}), ChildProcess::Io::nothing);
    std::this_thread::sleep_for(milliseconds(after_ms));
    left_something += serves(copy) ? 1 : 0;
    lab.kill();
    EXPECT_TRUE(eventually([&] {
      return fs::is_empty(copy.temporary) && processes_with(copy.temporary).empty() &&
             !serves(copy);
    })) << "killed after "
        << after_ms << " ms";
  }
  EXPECT_GT(left_something, 0) << "else nothing was there to go";
}

TEST(Stores, AServerThatEndsUnaskedIsNoVerdictOfTheLock) {
  const Copied copy;
  copy.change("server.py", "    server.serve_forever()",
              "    threading.Timer(4, lambda: os._exit(3)).start()\n    server.serve_forever()");
  const auto ran = run_program(copy.verify({"--seconds", "20", "--faults", "none"}), kLongProgram);
  EXPECT_TRUE(ended(ran, 70, "harness failure: member-0 "));
}

TEST(Stores, AServerThatCannotStartIsSaidWithItsLastWords) {
  const Copied copy;
  copy.change("server.py", "mutex = threading.Lock()", "sys.exit('no disk')");
  const auto ran = run_program(copy.verify({"--seconds", "20"}), kLongProgram);
  EXPECT_TRUE(ended(ran, 69, "member-0 of template 1 ended with status 1: no disk"));
  EXPECT_TRUE(fs::is_empty(copy.temporary));
}

}  // namespace
}  // namespace leasehold::lab
