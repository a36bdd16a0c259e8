#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
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

/// A folder of its own for a test's files; the commands run in an empty one beside it.
class Place {
 public:
  Place() {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(cwd);
  }
  ~Place() { std::filesystem::remove_all(root); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(root + "/" + name) << text;
    return root + "/" + name;
  }
  /// What a command wrote.
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(cwd + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] Ran run(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", cwd, LEASEHOLD_LAB_PROGRAM});
    return run_program(words);
  }
  [[nodiscard]] bool is_untouched() const { return std::filesystem::is_empty(cwd); }

  const std::string root = testing::TempDir() + "leasehold-cli-" + std::to_string(getpid());
  const std::string cwd = root + "/cwd";
};

/// Everything is refused before anything is done: code 64, one sentence, nothing left behind.
TEST(LabCommand, EveryKindOfBadInputIsRefusedInOneSentence) {
  const Place place;
  const auto folder = place.root, rubbish = place.file("rubbish", "\x01\xff{"),
             nothing = place.file("nothing", ""),
             bad_lock = place.file("lock.scn", "lock leashold\nprocess\n"),
             bad_field = place.file("field.scn", "process waiting=eager\n"),
             bad_place = place.file("place.scn", "process\nstep write at=0 process=4\n"),
             only_virtual = place.file("virtual.scn", "lock canary-extend\nprocess\n"),
             at_a_command = place.file("command.scn", "process\nfault crash at=0 on=delete\n"),
             steps_down = place.file("down.scn", "process\nfault step-down at=400\n"),
             kills = place.file("kill.scn", "process\nfault kill-member at=700 for=300\n");
  struct Case {
    std::vector<std::string> words;
    std::string sentence;
  };
  std::vector<Case> cases{
      {{"verify", "--seconds", "3"}, "--seconds is 3: it must be 4 to 604800"},
      {{"verify", "--seconds=-5"}, "--seconds is -5"},
      {{"verify", "--seconds", "99999999999999999999"}, "99999999999999999999"},
      {{"verify", "--seconds"}, "--seconds"},
      {{"verify", "--seconds", "5", "--seconds", "6"}, "more than once"},
      {{"verify", "--case=-1"}, "--case is -1: it must be 0 to"},
      {{"verify", "--times", "0"}, "--times is 0"},
      {{"verify", "--floors", "101"}, "--floors is 101"},
      {{"verify", "--lock", "canary-extend"}, "--lock is 'canary-extend': it must be one of"},
      {{"verify", "--plan", bad_lock}, "line 1: lock is 'leashold': it must be one of"},
      {{"simulate", "--waiting", "queue,eager"}, "'eager' is no waiting strategy"},
      {{"verify", "--waiting", "eager"}, "'eager' is no waiting strategy"},
      {{"verify", "--plan", bad_field}, "line 1: waiting is 'eager': it must be one of"},
      {{"verify", "--plan", bad_place}, "line 2: process is 4: the plan has only 1"},
      {{"verify", "--plan", only_virtual}, "which only the virtual world has"},
      {{"verify", "--plan", at_a_command}, "a fault has on=delete, which only the virtual"},
      {{"verify", "--plan", nothing}, "the plan ends without a process"},
      {{"verify", "--plan", rubbish}, "line 1: unknown word"},
      {{"verify", "--plan", folder}, "it cannot be read, or is no file"},
      {{"verify", "--runs", rubbish}, "it must be a folder that can be written, or made"},
      {{"verify", "--uri", "nonsense"}, "uri: "},
      {{"verify", "--uri", "mongodb://db/", "--plan", steps_down},
       "fault step-down at=400 needs --allow-server-faults"},
      {{"verify", "--uri", "mongodb://db/", "--allow-server-faults", "--plan", kills},
       "fault kill-member at=700 needs a replica set of the laboratory's own: leave out --uri"},
      {{"verify", "--uri", "mongodb://db/?tls=true"}, "--uri has TLS"},
      {{"verify", "--uri", "mongodb://db/?appName=x"}, "--uri has appName"},
      {{"verify", "--allow-server-faults"}, "it is for a set that --uri names"},
      {{"verify", "extra"}, "positional"},
      {{"simulate", "--seeds=-1"}, "--seeds is '-1'"},
      {{"simulate", "--seeds", "1..-3"}, "--seeds is '1..-3'"},
      {{"simulate", "--lock", "padlock"}, "--lock is 'padlock': it must be one of"},
      {{"simulate", "--runs", rubbish}, "--runs is '"},
      {{"simulate", bad_lock}, "lock is 'leashold'"},
      {{"simulate", folder}, "it cannot be read, or is no file"},
      {{"soak", "--minutes", "0"}, "--minutes is 0"},
      {{"soak", "--processes", "1"}, "--processes is 1"},
      {{"soak", "--runs", rubbish}, "--runs is '"},
      {{"soak", "--worker", "true"}, "one of them is missing"},
      {{"soak", "--uri", "mongodb://db/?tls=true"}, "--uri has TLS"},
      {{"soak", "--allow-server-faults"}, "it is for a set that --uri names"},
      {{"scenario"}, "it must be list, show, run or new"},
      {{"scenario", "run", bad_field}, "line 1: waiting is 'eager'"},
      {{"scenario", "run", folder}, "scenario is '"},
      {{"scenario", "list", "--folder", "/nowhere"}, "--folder is '/nowhere'"},
      {{"scenario", "run", "--all", "--tries", "0"}, "--tries is 0"},
      {{"scenario", "run", "--all", "--promises", nothing}, "one of them is missing"},
      {{"scenario", "run", "--all", "--worker", "true", "--promises", nothing}, "are no JSON"},
      {{"scenario", "run", "--all", "--lock", "padlock"}, "--lock is 'padlock'"},
      {{"scenario", "run", steps_down, "--uri", "mongodb://db/"},
       "scenario 'down': fault step-down at=400 needs --allow-server-faults"},
      {{"scenario", "run", "successor-clock-ahead", "--uri", "mongodb://db/"},
       "needs a replica set of the laboratory's own: leave out --uri"},
      {{"scenario", "run", "release-unanswered", "--uri", "mongodb://db/?tls=true"},
       "--uri has TLS"},
      {{"scenario", "run", "--all", "--allow-server-faults"}, "it is for a set that --uri names"},
      {{"cluster", "status", "--state", rubbish}, "it must be a file that cluster up wrote"},
      {{"cluster", "up", "--state", "/nowhere/state"}, "--state is '/nowhere/state'"},
      {{"matrix", "--scenarios", rubbish}, "--scenarios is '"},
      {{"check", folder}, "it must be a file that can be read"},
      {{"check", nothing}, "it must be a file that can be read"},
      {{"check", rubbish}, "line 1: "},
      {{"import", "--log", rubbish}, "--oplog FILE or --uri: one of them must be given"},
      {{"import", "--oplog", rubbish}, "--log is missing"},
      {{"import", "--oplog", rubbish, "--log", nothing}, "line 1 is no entry of an oplog"},
      {{"import", "--oplog", nothing, "--log", rubbish}, "--log is '"},
      {{"import", "--oplog", nothing, "--log", rubbish, "--lease-ms=0"}, "--lease-ms is 0"},
      {{"import", "--uri", "mongodb://db/", "--log", rubbish}, "one of them is missing"},
      {{"explore", "--max-states", "some"}, "some"},
      {{"explore", "--core", "--stories", folder}, "--stories beside --core"},
      {{"explore", "--stories", nothing}, "--stories is '"},
      {{"diagram", "nope"}, "table is 'nope'"},
  };
  for (const char* command : {"verify", "simulate", "soak", "scenario", "cluster", "matrix",
                              "check", "export", "import", "explore", "prove", "diagram"}) {
    cases.push_back({{command, "--dance"}, "--dance"});
  }
  // Where a report goes is looked at before the run and not after it.
  const std::vector<std::pair<std::vector<std::string>, std::vector<const char*>>> writers{
      {{"verify"}, {"json", "junit", "report", "summary"}},
      {{"simulate"}, {"json", "junit", "report"}},
      {{"soak"}, {"json", "junit", "report", "history"}},
      {{"scenario", "run", "--all"}, {"json", "junit", "report"}},
      {{"matrix"}, {"json", "markdown"}},
      {{"check", rubbish}, {"json", "junit", "report"}},
      {{"import", "--oplog", nothing, "--log", nothing},
       {"json", "junit", "report", "scenario"}},
      {{"explore"}, {"json", "junit"}},
      {{"prove"}, {"json", "junit"}},
  };
  for (const auto& [words, options] : writers) {
    for (const std::string option : options) {
      for (const std::string& bad : {std::string("/nowhere/file"), folder, std::string()}) {
        auto with = words;
        with.insert(with.end(), {"--" + option, bad});
        cases.push_back({std::move(with), "--" + option + " is '" + bad + "'"});
      }
    }
  }
  for (const auto& [words, sentence] : cases) {
    std::string line;
    for (const auto& word : words) line += word + ' ';
    const auto ran = place.run(words);
    EXPECT_EQ(ran.exit_code, 64) << line << ran.out;
    EXPECT_NE(ran.out.find(sentence), std::string::npos) << line << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << line << ran.out;
    EXPECT_TRUE(place.is_untouched()) << line;
  }
}

/// A file that did not exist is not there because a later option was refused.
TEST(LabCommand, ARefusedCommandLeavesNoReportBehind) {
  const Place place;
  const auto ran = place.run({"verify", "--json", "out.json", "--junit", "/nowhere/out.xml"});
  EXPECT_EQ(ran.exit_code, 64) << ran.out;
  EXPECT_TRUE(place.is_untouched());
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
  EXPECT_EQ(ran.exit_code, 70) << ran.out;
  EXPECT_NE(
      ran.out.find(
          "harness failure: p0.1 exited with status 3 although the harness had not stopped it:\n"
          "out of paper\nverdict: harness failure"),
      std::string::npos)
      << ran.out;
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
  EXPECT_EQ(ran.exit_code, 70) << ran.out;
  const auto xml = place.read("out.xml");
  EXPECT_NE(xml.find("&lt;a> &amp; &quot;b&quot;&#10;and ?\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("errors=\"1\""), std::string::npos) << xml;
}

/// "</script" would end the page's script, and "<!--<script" would keep its own end tag from it.
TEST(LabCommand, NoNameOfARunEndsThePagesScript) {
  const Place place;
  const auto ran = place.run({"check", history_of_odd_names(place), "--report", "out.html"});
  EXPECT_EQ(ran.exit_code, 70) << ran.out;
  const auto page = place.read("out.html");
  EXPECT_NE(page.find("\\u003c/script>\\u003c!--\\u003cscript>"), std::string::npos) << page;
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  EXPECT_EQ(page.find("<!--"), std::string::npos);
}

TEST(LabCommand, HelpIsThereForAll) {
  std::vector<std::vector<std::string>> all = {{"--help"}};
  for (const char* subcommand : {"verify", "simulate", "soak", "scenario", "cluster", "matrix",
                                 "check", "export", "explore", "prove", "diagram"}) {
    all.push_back({subcommand, "--help"});
  }
  for (const auto& words : all) {
    const auto ran = lab(words);
    EXPECT_EQ(ran.exit_code, 0) << words[0];
    EXPECT_NE(ran.out.find("usage: leasehold-lab"), std::string::npos) << words[0];
  }
}

TEST(LabCommand, ExploreSaysWhatIsWrongWithAScope) {
  expect_usage_error({"explore", "--lock", "etcd"}, "--lock is 'etcd'");
  expect_usage_error({"explore", "--variant", "none-such"}, "--variant is 'none-such'");
  expect_usage_error({"explore", "--lock", "insert-unique", "--variant", "no-margin"},
                     "only leasehold has variants");
  expect_usage_error({"explore", "--scope", "huge"}, "--scope is 'huge'");
  expect_usage_error({"explore", "--core", "--scope", "two-clients"}, "--scope is 'two-clients'");
  expect_usage_error({"explore", "--core", "--lock", "document-level"}, "--lock beside --core");
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
  EXPECT_NE(ran.out.find("306 of 307 proved"), std::string::npos) << ran.out;
}

TEST(LabCommand, SimulateSaysWhatIsWrongWithItsInput) {
  expect_usage_error({"simulate", "--seeds", "ten"}, "--seeds is 'ten'");
  expect_usage_error({"simulate", "--seeds", "9..3"}, "the range is empty");
  expect_usage_error({"simulate", "--lock", "etcd"}, "--lock is 'etcd'");
  expect_usage_error({"simulate", "--history", "/tmp/h"}, "it needs a single run");
  expect_usage_error({"simulate", "/nowhere.scn"}, "plan is '/nowhere.scn': it cannot be read");
  const std::string file = testing::TempDir() + "bad.scn";
  std::ofstream(file) << "lock leasehold\nfault fire\n";
  expect_usage_error({"simulate", file}, "line 2: unknown fault 'fire'");
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
       "' check history <&- 9>&- & until ls -l /proc/$!/fd | grep -q history; do :; done; "
       "readlink /proc/$!/fd/0; kill $!"});
  EXPECT_EQ(ran.out, "/dev/null\n");
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

TEST(LabCommand, BadWordsOfScenarioClusterAndMatrixAreNamed) {
  expect_usage_error({"scenario", "run", "nope"}, "scenario is 'nope': it must be one that");
  expect_usage_error({"scenario", "run"}, "name stories, or use --all");
  expect_usage_error({"scenario", "dance"}, "it must be list, show, run or new");
  expect_usage_error({"scenario", "run", "--all", "--world", "moon"}, "--world is 'moon'");
  expect_usage_error({"scenario", "run", "extension-hangs", "--lock", "x"}, "--lock is 'x'");
  expect_usage_error({"cluster", "sing"}, "it must be up, status, step-up, skew or down");
  expect_usage_error({"cluster", "status", "--state", "/nowhere"}, "no cluster is up");
  expect_usage_error({"matrix", "--world", "moon"}, "--world is 'moon'");
  expect_usage_error({"matrix", "--runs", "x"}, "--runs is 'x': virtual runs are repeated");
}

}  // namespace
}  // namespace leasehold::lab
