#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "scenarios/lab/run_program.hpp"

namespace leasehold::lab {
namespace {

Ran lab(std::vector<std::string> words) {
  words.insert(words.begin(), LEASEHOLD_LAB_PROGRAM);
  return run_program(words);
}

void expect_usage_error(const std::vector<std::string>& words, const std::string& sentence) {
  const auto ran = lab(words);
  EXPECT_EQ(ran.exit_code, 64) << ran.out;
  EXPECT_NE(ran.out.find(sentence), std::string::npos) << ran.out;
}

TEST(LabCommand, BadInputIsOneSentenceThatNamesThingValueAndRule) {
  expect_usage_error({"verify", "--processes", "0"}, "--processes is 0: it must be 1 to 256");
  expect_usage_error({"verify", "--locks", "-1"}, "--locks is -1: it must be 1 to 1000");
  expect_usage_error({"verify", "--seconds", "0"}, "--seconds is 0: it must be 4 to 604800");
  expect_usage_error({"verify", "--seconds", "soon"}, "soon");
  expect_usage_error({"verify", "--dance"}, "--dance");
  expect_usage_error({"verify", "--lock", "padlock"}, "--lock is 'padlock'");
  expect_usage_error({"verify", "--json", "/nowhere/out.json"},
                     "--json is '/nowhere/out.json': it must be a file that can be written");
  expect_usage_error({"verify", "--junit", "/nowhere/out.xml"}, "--junit is '/nowhere/out.xml'");
  expect_usage_error({"check", "/nowhere/history"}, "history is '/nowhere/history'");
  expect_usage_error({"check"}, "history");
  expect_usage_error({"dance"}, "unknown subcommand 'dance'");
  expect_usage_error({}, "no subcommand");
}

TEST(LabCommand, HelpIsThereForAll) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"verify", "--help"},
                                                {"check", "--help"},
                                                {"diagram", "--help"},
                                                {"explore", "--help"},
                                                {"simulate", "--help"}}) {
    const auto ran = lab(words);
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_NE(ran.out.find("usage: leasehold-lab"), std::string::npos);
  }
}

TEST(LabCommand, ExploreSaysWhatIsWrongWithAScope) {
  expect_usage_error({"explore", "--lock", "etcd"}, "--lock is 'etcd'");
  expect_usage_error({"explore", "--variant", "none-such"}, "--variant is 'none-such'");
  expect_usage_error({"explore", "--lock", "insert-unique", "--variant", "no-margin"},
                     "only leasehold has variants");
  expect_usage_error({"explore", "--scope", "huge"}, "--scope is 'huge'");
  expect_usage_error({"explore", "--faults", "loss,fire"}, "--faults has 'fire'");
  expect_usage_error({"explore", "--guarantees", "G9"}, "--guarantees is 'G9'");
  expect_usage_error({"explore", "--clients", "3", "--messages", "2"}, "at most 4 messages");
  expect_usage_error({"explore", "--clients", "3", "--faults", "stale"}, "needs 2 clients");
}

TEST(LabCommand, ExploreShowsEachKnownFaultOfADocumentsLock) {
  const auto ran = lab({"explore", "--lock", "document-level"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  for (const char* text : {"known fault: expiry by the clock of the client that asks",
                           "known fault: a holder past its lease does not know it",
                           "B's acquire is executed: \"won\"", "verdict: violated"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << " in " << ran.out;
  }
}

TEST(LabCommand, ExploreGivesUpAtMaxStatesWithUnknown) {
  const auto ran = lab({"explore", "--scope", "two-clients", "--max-states", "70000"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_NE(ran.out.find("unknown: more than 70000 states"), std::string::npos) << ran.out;
}

TEST(LabCommand, SimulateSaysWhatIsWrongWithItsInput) {
  expect_usage_error({"simulate", "--seeds", "ten"}, "--seeds is 'ten'");
  expect_usage_error({"simulate", "--seeds", "9..3"}, "the range is empty");
  expect_usage_error({"simulate", "--shard", "3/2"}, "--shard is '3/2'");
  expect_usage_error({"simulate", "--seconds", "-1"}, "--seconds is negative");
  expect_usage_error({"merge"}, "merge needs at least one report");
  expect_usage_error({"merge", "/nowhere.json"}, "report is '/nowhere.json': it cannot be read");
  expect_usage_error({"simulate", "--lock", "etcd"}, "--lock is 'etcd'");
  expect_usage_error({"simulate", "--processes", "1"}, "processes");
  expect_usage_error({"simulate", "--history", "/tmp/h"}, "it needs a single run");
  expect_usage_error({"simulate", "/nowhere.scn"}, "plan is '/nowhere.scn': it cannot be read");
  const std::string file = testing::TempDir() + "bad.scn";
  std::ofstream(file) << "lock leasehold\nfault fire\n";
  expect_usage_error({"simulate", file}, "line 2: unknown fault 'fire'");
}

TEST(LabCommand, SimulateRepeatsItselfToTheByte) {
  const auto once = lab({"simulate", "--seeds", "1..20", "--hash"});
  EXPECT_EQ(once.exit_code, 0) << once.out;
  const auto hash = once.out.find("\nhash ");
  ASSERT_NE(hash, std::string::npos) << once.out;
  const auto line = once.out.substr(hash, once.out.find('\n', hash + 1) - hash);
  EXPECT_NE(lab({"simulate", "--seeds", "1..20", "--hash"}).out.find(line), std::string::npos);
}

TEST(LabCommand, ShardsJoinToTheWhole) {
  const auto hash_of = [](const std::string& out) {
    const auto at = out.find("\nhash ");
    return at == std::string::npos ? "none in " + out : out.substr(at, 22);
  };
  std::vector<std::string> merge{"merge"};
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    merge.push_back(testing::TempDir() + "shard-" + shard[0] + ".json");
    lab({"simulate", "--seeds", "1..20", "--hash", "--shard", shard, "--json", merge.back()});
  }
  const auto whole = lab({"simulate", "--seeds", "1..20", "--hash"});
  const auto joined = lab(merge);
  EXPECT_EQ(joined.exit_code, 0) << joined.out;
  EXPECT_EQ(hash_of(joined.out), hash_of(whole.out));
  EXPECT_TRUE(joined.out.starts_with("20 runs, ")) << joined.out;
}

TEST(LabCommand, SimulateNamesTheFirstEventThatALeakOfRealTimeChanged) {
  const auto ran = lab({"simulate", "--seeds", "1", "--lock", "canary-clock", "--runs",
                        testing::TempDir() + "runs"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("the same plan gave another history: line "), std::string::npos)
      << ran.out;
}

TEST(LabCommand, TheKeptScenarioOfTheCanaryFails) {
  const auto ran = lab({"simulate", LEASEHOLD_SCENARIOS "/canary-deletes-by-name.scn", "--runs",
                        testing::TempDir() + "runs"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("lock 'lock-0': a release or clean-up of p1 deleted the lock of another"),
            std::string::npos)
      << ran.out;
}

TEST(LabCommand, WithoutAMongodItSaysHowToGetOne) {
  const auto ran = run_program({"env", "LEASEHOLD_MONGOD=/nowhere/mongod", LEASEHOLD_LAB_PROGRAM,
                                "verify", "--seconds", "4"});
  EXPECT_EQ(ran.exit_code, 69) << ran.out;
  EXPECT_NE(ran.out.find("LEASEHOLD_MONGOD is /nowhere/mongod"), std::string::npos) << ran.out;
}

TEST(LabCommand, CheckNamesTheBadLineOfAHistory) {
  const std::string file = testing::TempDir() + "bad-history.jsonl";
  std::ofstream(file) << "{\"at_ns\":1,\"kind\":\"run\"}\n{\"at_ns\":2,\"kind\":\"dance\"}\n";
  expect_usage_error({"check", file}, "line 2: unknown kind 'dance'");
}

TEST(LabCommand, CheckJudgesAHistoryThatIsNotWholeUnknown) {
  const std::string file = testing::TempDir() + "short-history.jsonl";
  const std::string json = testing::TempDir() + "short-history.json";
  std::ofstream(file) << "{\"at_ns\":1,\"kind\":\"run\"}\n";
  const auto ran = lab({"check", file, "--json", json});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  std::ifstream in(json);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("\"verdict\": \"unknown\""), std::string::npos) << text;
}

TEST(LabCommand, AFaultGroupThatDoesNotExistIsNamed) {
  expect_usage_error({"verify", "--faults", "clock,fire"}, "'fire' is none of all, none, process");
}

TEST(LabCommand, StoriesAreListedShownAndRun) {
  const auto listed = lab({"scenario", "list"});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_NE(listed.out.find("time-and-the-holder\n"), std::string::npos) << listed.out;
  const auto shown = lab({"scenario", "show", "extension-hangs"});
  EXPECT_NE(shown.out.find("# Reported: "), std::string::npos) << shown.out;
  const auto ran = lab({"scenario", "run", "extension-hangs"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_NE(ran.out.find("A is told that lock-0 is lost: deadline"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("G2 violated"), std::string::npos) << ran.out;
}

TEST(LabCommand, AStoryThatComesOutOtherwiseIsAFailure) {
  const std::string folder = testing::TempDir() + "leasehold-stories-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const auto shown = lab({"scenario", "show", "extension-hangs"}).out;
  std::ofstream(folder + "/changed.scn") << shown << "and they lived happily ever after\n";
  const auto ran = lab({"scenario", "run", "changed", "--folder", folder});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("another story than its file tells"), std::string::npos) << ran.out;
}

TEST(LabCommand, BadWordsOfScenarioClusterAndMatrixAreNamed) {
  expect_usage_error({"scenario", "run", "nope"}, "scenario is 'nope': it must be one that");
  expect_usage_error({"scenario", "run"}, "name some, or say --all");
  expect_usage_error({"scenario", "dance"}, "it must be list, show or run");
  expect_usage_error({"scenario", "run", "--all", "--world", "moon"}, "--world is 'moon'");
  expect_usage_error({"scenario", "run", "extension-hangs", "--lock", "x"}, "--lock is 'x'");
  expect_usage_error({"cluster", "sing"}, "it must be up, status, step-up, skew or down");
  expect_usage_error({"cluster", "status", "--state", "/nowhere"}, "no cluster is up");
  expect_usage_error({"matrix", "--world", "moon"}, "--world is 'moon'");
  expect_usage_error({"matrix", "--runs", "x"}, "--runs is 'x': virtual runs are repeated");
}

}  // namespace
}  // namespace leasehold::lab
