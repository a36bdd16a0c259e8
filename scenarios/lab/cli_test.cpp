#include <gtest/gtest-spi.h>

#include <tuple>

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
  EXPECT_FALSE(has(ran, "violated"));
}

TEST(LabCommand, AStoryHasAPageForEachLockAndItsNamesInTheFindings) {
  const Place place;
  const auto ran = place.run({"scenario", "run", "extension-hangs", "--report", "story.html",
                              "--json", "out.json", "--junit", "out.xml"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(place.cwd + "/story-leasehold.html")) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(place.cwd + "/story-distributed-lock.html")) << ran.out;
  EXPECT_FALSE(std::filesystem::exists(place.cwd + "/story.html"));
  EXPECT_TRUE(has(ran, "held() was true in A and B at once"));
  const auto xml = place.read("out.xml");
  EXPECT_TRUE(has(xml, "failures=\"0\"", "extension-hangs: with leasehold"));
}

TEST(LabCommand, InCiNoStoryIsRewritten) {
  const Place place;
  const auto ran = run_program({"/usr/bin/env", "CI=true", LEASEHOLD_LAB_PROGRAM, "scenario", "run",
                                "--rewrite", place.file("story.scn", "process\n")});
  EXPECT_TRUE(ended(ran, 64, "--rewrite: CI is 'true'"));
}

/// A history in which p0.1 asks for a lock of this name, and dies with these last words, as JSON.
std::string history_of_a_death(const Place& place, const std::string& name,
                               const std::string& words) {
  return place.file("history.jsonl", R"({"at_ns":1,"kind":"run"}
{"at_ns":2,"kind":"start","process":"p0.1"}
{"at_ns":3,"kind":"ask","process":"p0.1","session":1,"name":")" + name + R"("}
{"at_ns":4,"kind":"exit","process":"p0.1","outcome":"exited","exit_status":3,"message":")" +
                                         words + R"("}
{"at_ns":5,"kind":"heal"}
{"at_ns":6,"kind":"finish"}
)");
}

TEST(LabCommand, CheckSaysThatAProcessDied) {
  const Place place;
  EXPECT_TRUE(ended(place.run({"check", history_of_a_death(place, "lock-0", "out of paper")}), 1,
                    "alive violated: p0.1 exited with status 3 although the harness had not "
                    "stopped it: out of paper", "\nverdict: violated\n"));
}

/// Names that look like markup, or are no text at all. "</script" would end the page's script, and
/// "<!--<script" would keep its own end tag from it.
TEST(LabCommand, NoNameOfARunEndsThePagesScriptOrBreaksJunit) {
  const Place place;
  const auto history = history_of_a_death(place, "</script><!--<script>",
                                          R"(<a> & \"b\"\nand \u0001)");
  EXPECT_TRUE(
      ended(place.run({"check", history, "--report", "out.html", "--junit", "out.xml"}), 1));
  EXPECT_TRUE(has(place.read("out.xml"), "&lt;a> &amp; &quot;b&quot;\"",
                  "message=\"violated: p0.1 exited"));
  const auto page = place.read("out.html");
  EXPECT_TRUE(has(page, "\\u003c/script>\\u003c!--\\u003cscript>"));
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  EXPECT_FALSE(has(page, "<!--"));
}

TEST(LabCommand, HelpIsThereForAll) {
  std::vector<std::vector<std::string>> all = {{"--help"}};
  for (const char* subcommand : {"verify", "simulate", "soak", "scenario", "cluster", "matrix",
                                 "certify", "check", "export", "explore", "prove", "diagram"}) {
    all.push_back({subcommand, "--help"});
  }
  for (const auto& words : all) {
    EXPECT_TRUE(ended(lab(words), 0, "usage: leasehold-lab")) << words[0];
  }
}

TEST(LabCommand, ExploreShowsEachKnownFaultOfADocumentsLock) {
  const auto ran = lab({"explore", "--lock", "document-level"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_TRUE(has(ran, "known fault: expiry by the clock of the client that asks",
                  "known fault: a holder past its lease does not notice",
                  "B's acquire is executed: \"won\"", "verdict: violated"));
}

TEST(LabCommand, ExploreGivesUpAtMaxStatesWithUnknown) {
  const auto ran = lab({"explore", "--scope", "two-clients", "--max-states", "70000"});
  EXPECT_TRUE(ended(ran, 2, "unknown: more than 70000 states"));
}

TEST(LabCommand, ProveShowsWhatFailsInAWeakerDesign) {
  const auto ran = lab({"prove", "--design", "hand-over keeps the old expiresAt"});
  if (ran.out.find("solver: none") != std::string::npos) GTEST_SKIP() << "built without Z3";
  EXPECT_TRUE(ended(ran, 1, "FAILS    stands / hand over", "364 of 365 proved"));
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
  EXPECT_TRUE(ended(ran, 1, "the same plan gave another history: line "));
}

TEST(LabCommand, TheKeptScenarioOfTheCanaryFails) {
  EXPECT_TRUE(ended(lab({"simulate", LEASEHOLD_SCENARIOS "/canary-deletes-by-name.scn", "--runs",
                         testing::TempDir() + "runs"}), 1,
                    "lock 'lock-0': a release or clean-up of p1 deleted the lock of another"));
}

/// Before anything is started: with /bin/true for a mongod it could not go on.
TEST(LabCommand, SaysWhatThisMachineLacksForASetAndHowToGetIt) {
  const Place place;
  const std::string verify =
      " '" LEASEHOLD_LAB_PROGRAM "' verify --seconds 4 --runs '" + place.root + "'";
  const std::tuple<std::string, int, const char*> rows[]{
      {"LEASEHOLD_MONGOD=/nowhere/mongod", 69, "LEASEHOLD_MONGOD is /nowhere/mongod"},
      {"unset LEASEHOLD_MONGOD; PATH='" + place.cwd + "' XDG_CACHE_HOME='" + place.cwd + "'", 69,
       "no mongod: set LEASEHOLD_MONGOD, put one on the PATH, or run scripts/fetch-mongod, which "
       "fetches one\n"},
      {"LEASEHOLD_MONGOD=/bin/true TMPDIR=/nowhere", 70, "TMPDIR is '/nowhere'"},
      {"LEASEHOLD_MONGOD=/bin/true TMPDIR=/proc", 70, "no temporary folder can be made at /proc/"},
      {"ulimit -f 8; LEASEHOLD_MONGOD=/bin/true", 70, "no file may have more than "}};
  for (const auto& [setting, code, words] : rows) {
    EXPECT_TRUE(ended(run_program({"/bin/sh", "-c", setting + verify}), code, words)) << setting;
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
    EXPECT_TRUE(ended(ran, 70, "cannot", ": No space left on device\n")) << words;
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
  EXPECT_TRUE(ended(run_program({"/bin/sh", "-c", "trap '' INT; '" LEASEHOLD_LAB_PROGRAM
                                 "' simulate --seeds 1..40 >/dev/null & while kill -INT $! "
                                 "2>/dev/null; do :; done; wait $!"}), 0));
}

TEST(LabCommand, CheckJudgesAHistoryThatIsNotWholeUnknown) {
  const Place place;
  const auto file = place.file("short.jsonl", "{\"at_ns\":1,\"kind\":\"run\"}\n");
  EXPECT_TRUE(ended(place.run({"check", file, "--json", "out.json"}), 2));
  EXPECT_TRUE(has(place.read("out.json"), "\"verdict\": \"unknown\""));
}

TEST(LabCommand, StoriesAreListedShownAndRun) {
  EXPECT_TRUE(ended(lab({"scenario", "list"}), 0, "time-and-the-holder\n"));
  EXPECT_TRUE(has(lab({"scenario", "show", "extension-hangs"}), "# Reported: "));
  const auto ran = lab({"scenario", "run", "extension-hangs"});
  EXPECT_TRUE(ended(ran, 0, "A loses lock-0: deadline", "G2 violated",
                    " A answers that it holds lock-0\n"));
  EXPECT_FALSE(has(ran, "\"at_ns\"")) << "its events are in words";
}

TEST(LabCommand, AStoryThatComesOutOtherwiseIsAFailure) {
  const Place place;
  const auto shown = lab({"scenario", "show", "extension-hangs"}).out;
  place.file("changed.scn", shown + "and they lived happily ever after\n");
  EXPECT_TRUE(ended(place.run({"scenario", "run", "changed", "--folder", place.root}), 1,
                    "the result differs from its file"));
}

TEST(LabCommand, ANewStoryReproducesWhatItSaysAndOverwritesNone) {
  const Place place;
  const auto begun = place.run({"scenario", "new", "mine.scn"});
  ASSERT_EQ(begun.exit_code, 0) << begun.out;
  EXPECT_TRUE(ended(place.run({"scenario", "run", "mine.scn"}), 0, "reproduces G2"));
  const auto again = place.run({"scenario", "new", "mine.scn"});
  EXPECT_TRUE(ended(again, 64, "'mine.scn': it must not exist yet"));
}

TEST(LabCommand, AStoryThatDoesNotReproduceItsFailureSaysSo) {
  const Place place;
  const auto story = place.file("calm.scn",
                                "# locks: leasehold\n# reproduces: G2 G5\nlocks 1\nfaulty 1000\n"
                                "process expiry=900 scripted=1\n"
                                "step acquire at=0 timeout=300\nstep release at=200\n");
  const auto ran = place.run({"scenario", "run", story});
  EXPECT_TRUE(ended(ran, 1, "does not reproduce G2 G5  NOT AS EXPECTED"));
  const auto wrong = place.file("wrong.scn", "# reproduces: G12\nprocess scripted=1\n");
  EXPECT_TRUE(ended(place.run({"scenario", "run", wrong}), 64,
                    "reproduces is 'G12': it must be a guarantee that leasehold promises"));
}

}  // namespace
}  // namespace leasehold::lab
