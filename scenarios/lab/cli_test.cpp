#include <gtest/gtest-spi.h>

#include <algorithm>

#include "scenarios/lab/lab_fixture.hpp"

namespace leasehold::lab {
namespace {

TEST(RunProgram, NamesAProgramThatExceedsItsLimitWithItsLastLines) {
  const std::vector<std::string> command{"/bin/sh", "-c", "echo last words; exec sleep 100"};
  EXPECT_NONFATAL_FAILURE(
      run_program(command, std::chrono::seconds(1)),
      "exec sleep 100\nhad not ended after 1 s; it said last:\nlast words\n");
}

TEST(LabCommand, ALockGivenBesideAPlanFileIsTheOneThatRuns) {
  const Place place;
  const std::string file = LEASEHOLD_SCENARIOS "/documents/distributed-lock-breaks-g1.scn";
  EXPECT_EQ(place.run({"simulate", file, "--runs", place.root}).exit_code, 1);
  const auto ran = place.run({"simulate", file, "--lock", "leasehold", "--runs", place.root});
  EXPECT_NE(ran.exit_code, 1) << ran.out;
  EXPECT_EQ(ran.out.find("violated"), std::string::npos) << ran.out;
}

TEST(LabCommand, AStoryHasAPageForEachLockAndItsNamesInTheFindings) {
  const Place place;
  const auto ran = place.run({"scenario", "run", "extension-hangs", "--report", "story.html",
                              "--json", "out.json", "--junit", "out.xml"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(place.cwd + "/story-leasehold.html")) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(place.cwd + "/story-distributed-lock.html")) << ran.out;
  EXPECT_FALSE(std::filesystem::exists(place.cwd + "/story.html"));
  EXPECT_NE(ran.out.find("held() was true in A and B at once"), std::string::npos) << ran.out;
  const auto xml = place.read("out.xml");
  EXPECT_NE(xml.find("failures=\"0\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("extension-hangs: with leasehold"), std::string::npos) << xml;
}

TEST(LabCommand, InCiNoStoryIsRewritten) {
  const Place place;
  const auto ran = run_program({"/usr/bin/env", "CI=true", LEASEHOLD_LAB_PROGRAM, "scenario", "run",
                                "--rewrite", place.file("story.scn", "process\n")});
  EXPECT_EQ(ran.exit_code, 64) << ran.out;
  EXPECT_NE(ran.out.find("--rewrite: CI is 'true'"), std::string::npos) << ran.out;
}

TEST(LabCommand, CheckSaysThatAProcessDied) {
  const Place place;
  const auto file = place.file("history.jsonl",
                               "{\"at_ns\":1,\"kind\":\"run\"}\n"
                               "{\"at_ns\":2,\"kind\":\"start\",\"process\":\"p0.1\"}\n"
                               "{\"at_ns\":3,\"kind\":\"exit\",\"process\":\"p0.1\",\"outcome\":"
                               "\"exited\",\"exit_status\":3,"
                               "\"message\":\"out of paper\"}\n{\"at_ns\":4,\"kind\":\"heal\"}\n"
                               "{\"at_ns\":5,\"kind\":\"finish\"}\n");
  const auto ran = place.run({"check", file});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("alive violated: p0.1 exited with status 3 although the harness had not "
                         "stopped it: out of paper"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("\nverdict: violated\n"), std::string::npos) << ran.out;
}

/// A history whose names look like markup, or are no text at all.
std::string history_of_odd_names(const Place& place) {
  return place.file(
      "history.jsonl",
      "{\"at_ns\":1,\"kind\":\"run\"}\n"
      "{\"at_ns\":2,\"kind\":\"start\",\"process\":\"p0.1\"}\n"
      "{\"at_ns\":3,\"kind\":\"ask\",\"process\":\"p0.1\",\"session\":1,"
      "\"name\":\"</script><!--<script>\"}\n"
      "{\"at_ns\":4,\"kind\":\"exit\",\"process\":\"p0.1\",\"outcome\":\"exited\",\"exit_status\":"
      "3,"
      "\"message\":\"<a> & \\\"b\\\"\\nand \\u0001\"}\n{\"at_ns\":5,\"kind\":\"heal\"}\n"
      "{\"at_ns\":6,\"kind\":\"finish\"}\n");
}

TEST(LabCommand, JunitHoldsAnyTextAndStaysWellFormed) {
  const Place place;
  const auto ran = place.run({"check", history_of_odd_names(place), "--junit", "out.xml"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  const auto xml = place.read("out.xml");
  EXPECT_NE(xml.find("&lt;a> &amp; &quot;b&quot;\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("message=\"violated: p0.1 exited"), std::string::npos) << xml;
}

/// "</script" would end the page's script, and "<!--<script" would keep its own end tag from it.
TEST(LabCommand, NoNameOfARunEndsThePagesScript) {
  const Place place;
  const auto ran = place.run({"check", history_of_odd_names(place), "--report", "out.html"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  const auto page = place.read("out.html");
  EXPECT_NE(page.find("\\u003c/script>\\u003c!--\\u003cscript>"), std::string::npos) << page;
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  EXPECT_EQ(page.find("<!--"), std::string::npos);
}

TEST(LabCommand, HelpIsThereForAll) {
  std::vector<std::vector<std::string>> all = {{"--help"}};
  for (const char* subcommand : {"verify", "simulate", "soak", "scenario", "cluster", "matrix",
                                 "certify", "check", "export", "explore", "prove", "diagram"}) {
    all.push_back({subcommand, "--help"});
  }
  for (const auto& words : all) {
    const auto ran = lab(words);
    EXPECT_EQ(ran.exit_code, 0) << words[0];
    EXPECT_NE(ran.out.find("usage: leasehold-lab"), std::string::npos) << words[0];
  }
}

TEST(LabCommand, ExploreShowsEachKnownFaultOfADocumentsLock) {
  const auto ran = lab({"explore", "--lock", "document-level"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  for (const char* text : {"known fault: expiry by the clock of the client that asks",
                           "known fault: a holder past its lease does not notice",
                           "B's acquire is executed: \"won\"", "verdict: violated"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << " in " << ran.out;
  }
}

TEST(LabCommand, ExploreGivesUpAtMaxStatesWithUnknown) {
  const auto ran = lab({"explore", "--scope", "two-clients", "--max-states", "70000"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_NE(ran.out.find("unknown: more than 70000 states"), std::string::npos) << ran.out;
}

TEST(LabCommand, ProveShowsWhatFailsInAWeakerDesign) {
  expect_usage_error({"prove", "--design", "none-such"}, "--design is 'none-such'");
  expect_usage_error({"prove", "--timeout", "0"}, "--timeout is 0");
  const auto ran = lab({"prove", "--design", "hand-over keeps the old expiresAt"});
  if (ran.out.find("solver: none") != std::string::npos) GTEST_SKIP() << "built without Z3";
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("FAILS    stands / hand over"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("364 of 365 proved"), std::string::npos) << ran.out;
}

TEST(LabCommand, SimulateRepeatsItselfToTheByte) {
  const auto once = lab({"simulate", "--seeds", "1..40", "--hash"});
  EXPECT_EQ(once.exit_code, 0) << once.out;
  const auto hash = once.out.find("\nhash ");
  ASSERT_NE(hash, std::string::npos) << once.out;
  const auto line = once.out.substr(hash, once.out.find('\n', hash + 1) - hash);
  EXPECT_NE(lab({"simulate", "--seeds", "1..40", "--hash"}).out.find(line), std::string::npos);
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

TEST(LabCommand, WithNoMongodAnywhereItSaysWhatToDo) {
  const Place place;
  const auto ran = run_program({"/usr/bin/env", "-u", "LEASEHOLD_MONGOD", "PATH=" + place.cwd,
                                "XDG_CACHE_HOME=" + place.cwd, LEASEHOLD_LAB_PROGRAM, "verify",
                                "--seconds", "4", "--runs", place.root});
  EXPECT_EQ(ran.exit_code, 69) << ran.out;
  EXPECT_NE(ran.out.find("no mongod: set LEASEHOLD_MONGOD, put one on the PATH, or run "
                         "scripts/fetch-mongod, which fetches one\n"),
            std::string::npos)
      << ran.out;
}

/// Before anything is started: with this for a mongod it could not go on.
TEST(LabCommand, SaysWhichFolderOrLimitLeavesNoRoomForASet) {
  const Place place;
  const std::string verify = " LEASEHOLD_MONGOD=/bin/true '" LEASEHOLD_LAB_PROGRAM
                             "' verify --seconds 4 --runs '" + place.root + "'";
  const std::pair<std::string, std::string> rows[]{
      {"TMPDIR=/nowhere", "TMPDIR is '/nowhere'"},
      {"TMPDIR=/proc", "no temporary folder can be made at /proc/"},
      {"ulimit -f 8;", "no file may have more than "}};
  for (const auto& [setting, words] : rows) {
    const auto ran = run_program({"/bin/sh", "-c", setting + verify});
    EXPECT_EQ(ran.exit_code, 70) << setting << ran.out;
    EXPECT_NE(ran.out.find(words), std::string::npos) << setting << ran.out;
  }
}

TEST(LabCommand, SaysItsVersion) {
  const auto ran = lab({"--version"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(ran.out.starts_with("leasehold-lab ")) << ran.out;
}

/// What a short command says is written by its last flush alone.
TEST(LabCommand, OutputThatCannotBeWrittenIsAFailure) {
  const std::string program = LEASEHOLD_LAB_PROGRAM;
  for (const auto* words : {"--version", "--help", "verify --help", "diagram", "scenario list",
                            "simulate --seeds 1..3"}) {
    const auto ran = run_program({"/bin/sh", "-c", "'" + program + "' " + words + " > /dev/full"});
    EXPECT_EQ(ran.exit_code, 70) << words;
    EXPECT_NE(ran.out.find("cannot"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(": No space left on device\n"), std::string::npos) << ran.out;
  }
}

/// Else the first file or connection that is opened gets such a number, and what is printed.
TEST(LabCommand, ClosedDescriptorsBecomeNoFiles) {
  const Place place;
  const auto ran = run_program(
      {"/bin/sh", "-c",
       "cd '" + place.cwd + "'; mkfifo history; exec 9<>history; '" LEASEHOLD_LAB_PROGRAM
       "' check history <&- 9>&- & "
       "until ls -l /proc/$!/fd 2>/dev/null | grep -q ' [3-8] -> .*history'; do :; done; "
       "readlink /proc/$!/fd/0; kill $!"});
  EXPECT_EQ(ran.out, "/dev/null\n");
}

/// As in the background of a script, where Ctrl-C is for the command in front.
TEST(LabCommand, AnIgnoredSignalInterruptsNothing) {
  const auto ran = run_program({"/bin/sh", "-c",
                                "trap '' INT; '" LEASEHOLD_LAB_PROGRAM
                                "' simulate --seeds 1..40 >/dev/null & "
                                "while kill -INT $! 2>/dev/null; do :; done; wait $!"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
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

TEST(LabCommand, StoriesAreListedShownAndRun) {
  const auto listed = lab({"scenario", "list"});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_NE(listed.out.find("time-and-the-holder\n"), std::string::npos) << listed.out;
  const auto shown = lab({"scenario", "show", "extension-hangs"});
  EXPECT_NE(shown.out.find("# Reported: "), std::string::npos) << shown.out;
  const auto ran = lab({"scenario", "run", "extension-hangs"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_NE(ran.out.find("A loses lock-0: deadline"), std::string::npos) << ran.out;
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
  EXPECT_NE(ran.out.find("the result differs from its file"), std::string::npos) << ran.out;
}

TEST(LabCommand, ANewStoryReproducesWhatItSaysAndOverwritesNone) {
  const Place place;
  const auto begun = place.run({"scenario", "new", "mine.scn"});
  ASSERT_EQ(begun.exit_code, 0) << begun.out;
  const auto ran = place.run({"scenario", "run", "mine.scn"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_NE(ran.out.find("reproduces G2"), std::string::npos) << ran.out;
  const auto again = place.run({"scenario", "new", "mine.scn"});
  EXPECT_EQ(again.exit_code, 64);
  EXPECT_NE(again.out.find("'mine.scn': it must not exist yet"), std::string::npos) << again.out;
}

TEST(LabCommand, AStoryThatDoesNotReproduceItsFailureSaysSo) {
  const Place place;
  const auto story = place.file("calm.scn",
                                "# locks: leasehold\n# reproduces: G2 G5\nlocks 1\nfaulty 1000\n"
                                "process expiry=900 scripted=1\n"
                                "step acquire at=0 timeout=300\nstep release at=200\n");
  const auto ran = place.run({"scenario", "run", story});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("does not reproduce G2 G5  NOT AS EXPECTED"), std::string::npos)
      << ran.out;
  const auto wrong = place.file("wrong.scn", "# reproduces: G12\nprocess scripted=1\n");
  const auto refused = place.run({"scenario", "run", wrong});
  EXPECT_EQ(refused.exit_code, 64) << refused.out;
  EXPECT_NE(refused.out.find("reproduces is 'G12': it must be a guarantee that leasehold promises"),
            std::string::npos)
      << refused.out;
}

}  // namespace
}  // namespace leasehold::lab
