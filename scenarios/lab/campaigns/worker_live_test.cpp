#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "scenarios/lab/ran_fixture.hpp"

namespace leasehold::lab {
namespace {

/// 20 s of `verify` of a worker, whose failing runs are not kept.
Ran verified(const std::string& command, const std::string& promises, const std::string& faults,
             const std::vector<std::string>& more = {}) {
  const auto runs = testing::TempDir() + "leasehold-worker-test-" + std::to_string(getpid());
  // Whoever started the laboratory may have ignored it: how a child ended is known all the same.
  std::vector<std::string> words{
      "env", "--ignore-signal=CHLD", LEASEHOLD_LAB_PROGRAM, "verify", "--worker", command,
      "--promises", LEASEHOLD_WORKERS + std::string("/") + promises, "--seconds", "20",
      "--processes", "4", "--locks", "2", "--seed", "5", "--faults", faults, "--runs", runs,
      "--floors", "10"};
  words.insert(words.end(), more.begin(), more.end());
  auto ran = run_program(words, kLongProgram);
  std::filesystem::remove_all(runs);
  return ran;
}

std::string python(const std::string& program) {
  return "/usr/bin/python3 " + std::string(LEASEHOLD_WORKERS) + "/" + program;
}

TEST(Workers, OurOwnLockHoldsBehindTheProtocol) {
  const auto ran = verified(LEASEHOLD_WORKER_TEMPLATE, "leasehold.json", "all");
  EXPECT_TRUE(ended(ran, 0, "leasehold: G1 not checked, G6 not checked"));
}

/// Those that read lock another name.
TEST(Workers, AReaderBesideAWriterIsFound) {
  const std::string apart = R"(sed -u '/"stop"/q;/"shared"/s/"name":"/&r-/' | )";
  const auto ran =
      verified(apart + LEASEHOLD_WORKER_TEMPLATE, "leasehold.json", "none",
               {"--plan", LEASEHOLD_WORKERS "/../others/shared.readers.scn", "--until-violated"});
  EXPECT_TRUE(ended(ran, 1, "G2 violated: "));
}

TEST(Workers, ASoundPythonLockHoldsAndIsBlamedForNothingItNeverPromised) {
  const auto ran = verified("cd / && LOCK=mine " + python("templates/python/worker.py"),
                            "templates/promises.json", "process,network,failover");
  EXPECT_TRUE(ended(ran, 0, "G4 not promised, G5 not promised"));
}

/// Where its author says where its documents are, writes to them get errors: the server counts.
TEST(Workers, InjectedErrorsHitTheCollectionThatItsAuthorNames) {
  const auto named = verified(python("pymongo_worker.py"), "pymongo_oplog.json", "errors");
  EXPECT_NE(named.exit_code, 1) << named.out;
  EXPECT_TRUE(has(named, " fault errors\n"));
  const auto unknown = verified(python("pymongo_worker.py"), "pymongo.json", "errors");
  EXPECT_FALSE(has(unknown, " fault errors\n"));
}

TEST(Workers, AHolderThatStillHoldsAfterItsDeadlineIsFound) {
  EXPECT_TRUE(ended(verified(python("planted_errors.py held-after-deadline"), "pymongo.json",
                             "process,network"), 1, "G2 violated: "));
}

/// Random plans seldom release late; a story does. Nobody's user need notice: the oplog shows it.
TEST(Workers, AReleaseThatFreesAnothersLockIsFoundInTheOplog) {
  const auto ran = run_program({LEASEHOLD_LAB_PROGRAM, "scenario", "run",
                                "late-release-frees-the-next-holder", "--worker",
                                python("planted_errors.py released-by-name"), "--promises",
                                LEASEHOLD_WORKERS "/pymongo_oplog.json"},
                               kLongProgram);
  EXPECT_TRUE(ended(ran, 1, "G6 violated: "));
}

/// The other errors of planted_errors.py need minutes of faults to be noticed.
TEST(Workers, ATokenOfItsProcessAloneIsFound) {
  const auto ran = verified(python("planted_errors.py token-per-process"), "pymongo.json", "none");
  EXPECT_TRUE(ended(ran, 1, "G4 violated: ", "G3 violated: "));
  EXPECT_TRUE(has(ran, "holds lock-", ", token ", "to make its plan smaller: leasehold-lab"));
  EXPECT_FALSE(has(ran, "\"at_ns\"")) << "it is shown in words";
}

TEST(Workers, OneThatHangsIsFound) {
  const auto ran = verified(python("planted_errors.py hangs"), "pymongo.json", "none");
  EXPECT_TRUE(ended(ran, 1, "it did not answer within"));
}

TEST(Workers, OneThatDiesOrSaysWhatIsNoAnswerIsFound) {
  const std::string ready = "echo '{\"is\":\"ready\"}'; ";
  const auto dead = verified(ready + "echo bye >&2; exit 3", "pymongo.json", "none");
  EXPECT_TRUE(ended(dead, 1, "exited with status 3, unasked: bye"));
  const auto file = testing::TempDir() + "leasehold-worker-" + std::to_string(getpid()) + ".json";
  const auto latin = verified(ready + "printf 'ung\\374ltig\\n'; sleep 60", "pymongo.json", "none",
                              {"--json", file});
  EXPECT_TRUE(ended(latin, 1, "it said what is no JSON object: ung\uFFFDltig"));
  EXPECT_EQ(json_of(file)["verdict"], "violated");
  std::filesystem::remove(file);
}

/// Nothing of its lock was seen.
TEST(Workers, OneThatNeverIsReadyIsUnknownAndSaysWhatBecameOfIt) {
  const std::pair<const char*, const char*> never[]{
      {"echo bye >&2; exit 3",
       "it never said that it is ready: it exited with status 3, unasked: "
       "bye"},
      {"no-such-program", "not found"},
      {"echo hello; sleep 60", "it said what is no JSON object: hello"},
      {"printf '{\"is\":\"ready\"}'", "it said, without the end of a line: {\"is\":\"ready\"}"}};
  for (const auto& [command, sentence] : never) {
    const auto ran = verified(command, "pymongo.json", "none");
    EXPECT_TRUE(ended(ran, 2, sentence)) << command;
    EXPECT_FALSE(has(ran, "run with more seconds"));
  }
}

}  // namespace
}  // namespace leasehold::lab
