#include <tuple>

#include "scenarios/lab/ran_fixture.hpp"

namespace leasehold::lab {
namespace {

constexpr const char* kCommands[]{"verify",  "simulate", "soak",  "scenario", "cluster",
                                  "matrix",  "certify",  "check", "export",   "import",
                                  "explore", "prove",    "diagram"};

const std::string kExecLab = "exec '" LEASEHOLD_LAB_PROGRAM "' ";

Ran lab(const std::string& words) { return run_program({"/bin/sh", "-c", kExecLab + words}); }

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
    return content_of(cwd + "/" + name);
  }
  [[nodiscard]] Ran run(const std::string& words) const { return shell(cwd, kExecLab + words); }
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
             only_virtual = place.file("virtual.scn", "lock canary-extend\nprocess\n"),
             at_a_command = place.file("command.scn", "process\nfault crash at=0 on=delete\n"),
             steps_down = place.file("down.scn", "process\nfault step-down at=400\n"),
             bad_promise = place.file("g12.scn", "# reproduces: G12\nprocess scripted=1\n"),
             bad_kind = place.file("bad-history.jsonl", "{\"at_ns\":1,\"kind\":\"run\"}\n"
                                                        "{\"at_ns\":2,\"kind\":\"dance\"}\n");
  std::vector<std::pair<std::string, std::string>> cases{
      {"verify --seconds 3", "--seconds is 3: it must be 4 to 604800"},
      {"verify --seconds 99999999999999999999", "99999999999999999999"},
      {"verify --seconds", "--seconds"},
      {"verify --seconds 5 --seconds 6", "more than once"},
      {"verify --case=-1", "--case is -1: it must be 0 to"},
      {"verify --times 0", "--times is 0"},
      {"verify --floors 101", "--floors is 101"},
      {"verify --lock canary-extend", "--lock is 'canary-extend': it must be one of"},
      {"verify --plan " + bad_lock, "line 1: lock is 'leashold': it must be one of"},
      {"simulate --waiting queue,eager", "'eager' is no waiting strategy"},
      {"verify --plan " + only_virtual, "which only the virtual world has"},
      {"verify --plan " + at_a_command, "a fault has on=delete, which only the virtual"},
      {"verify --plan " + rubbish, "line 1: unknown word"},
      {"verify --plan " + folder, "it cannot be read, or is no file"},
      {"verify --runs " + rubbish, "it must be a folder that can be written, or made"},
      {"verify --uri nonsense", "uri: "},
      {"verify --uri mongodb://db/ --plan " + steps_down,
       "fault step-down at=400 is none that your own set, whose servers are left alone, can "
       "have: crash, pause, cut-link, refuse-link, slow-link, lost-replies, late-requests, "},
      {"verify --uri mongodb://db/ --faults process,ttl",
       "--faults is 'process,ttl': your own set, whose servers are left alone, can have none "
       "of 'ttl', only crash, pause, "},
      {"verify --uri mongodb://db/?tls=true", "--uri has TLS"},
      {"verify extra", "positional"},
      {"certify", "no replica set: give its URI by --uri or LEASEHOLD_URI"},
      {"certify --uri nonsense", "uri: "},
      {"simulate --seeds=-1", "--seeds is '-1'"},
      {"simulate --lock padlock", "--lock is 'padlock': it must be one of"},
      {"simulate --runs " + rubbish, "--runs is '"},
      {"simulate " + bad_lock, "lock is 'leashold'"},
      {"simulate " + folder, "it cannot be read, or is no file"},
      {"soak --minutes 0", "--minutes is 0"},
      {"soak --processes 1", "--processes is 1"},
      {"soak --runs " + rubbish, "--runs is '"},
      {"soak --worker true", "one of them is missing"},
      {"soak --uri mongodb://db/?tls=true", "--uri has TLS"},
      {"scenario", "it must be list, show, run or new"},
      {"scenario run " + bad_lock, "line 1: lock is 'leashold'"},
      {"scenario run " + folder, "scenario is '"},
      {"scenario run " + bad_promise, "reproduces is 'G12': it must be a guarantee that leasehold"},
      {"scenario list --folder /nowhere", "--folder is '/nowhere'"},
      {"scenario run --all --tries 0", "--tries is 0"},
      {"scenario run --all --promises " + nothing, "one of them is missing"},
      {"scenario run --all --worker true --promises " + nothing, "are no JSON"},
      {"scenario run --all --lock padlock", "--lock is 'padlock'"},
      {"scenario run " + steps_down + " --uri mongodb://db/",
       "scenario 'down': fault step-down at=400 is none that your own set"},
      {"scenario run successor-clock-ahead --uri mongodb://db/", "is none that your own set"},
      {"scenario run release-unanswered --uri mongodb://db/?tls=true", "--uri has TLS"},
      {"cluster status --state " + rubbish, "it must be a file that cluster up wrote"},
      {"cluster up --state /nowhere/state", "--state is '/nowhere/state'"},
      {"matrix --scenarios " + rubbish, "--scenarios is '"},
      {"check " + folder, "it must be a file that can be read"},
      {"check " + nothing, "it must be a file that can be read"},
      {"check " + rubbish, "line 1: "},
      {"import --log " + rubbish, "--oplog FILE or --uri: one of them must be given"},
      {"import --oplog " + rubbish, "--log is missing"},
      {"import --oplog " + rubbish + " --log " + nothing, "line 1 is no entry of an oplog"},
      {"import --oplog " + nothing + " --log " + rubbish, "--log is '"},
      {"import --oplog " + nothing + " --log " + rubbish + " --lease-ms=0", "--lease-ms is 0"},
      {"import --uri mongodb://db/ --log " + rubbish, "one of them is missing"},
      {"explore --max-states some", "some"},
      {"explore --stories " + nothing, "--stories is '"},
      {"diagram nope", "table is 'nope'"},
      {"prove --design none-such", "--design is 'none-such'"},
      {"prove --timeout 0", "--timeout is 0"},
      {"verify --processes 0", "--processes is 0: it must be 1 to 256"},
      {"verify --locks -1", "--locks is -1: it must be 1 to 1000"},
      // A file that did not exist is not there because a later option was refused.
      {"verify --json out.json --junit /nowhere/out.xml", "--junit is '/nowhere/out.xml'"},
      {"verify --json /nowhere/out.json",
       "--json is '/nowhere/out.json': it must be a file that can be written"},
      {"check /nowhere/history", "history is '/nowhere/history'"},
      {"check", "history"},
      {"dance", "unknown subcommand 'dance'"},
      {"", "no subcommand"},
      {"explore --lock etcd", "--lock is 'etcd'"},
      {"explore --variant none-such", "--variant is 'none-such'"},
      {"explore --lock insert-unique --variant no-margin", "only leasehold has variants"},
      {"explore --scope huge", "--scope is 'huge'"},
      {"simulate --seeds 9..3", "the range is empty"},
      {"simulate --history /tmp/h", "it needs a single run"},
      {"simulate /nowhere.scn", "plan is '/nowhere.scn': it cannot be read"},
      {"verify --faults clock,fire", "'fire' is none of all, none, process"},
      {"scenario run nope", "scenario is 'nope': it must be one that"},
      {"scenario run", "name stories, or use --all"},
      {"scenario dance", "it must be list, show, run or new"},
      {"scenario run --all --world moon", "--world is 'moon'"},
      {"cluster sing", "it must be up, status, step-up, skew or down"},
      {"cluster status --state /nowhere", "no cluster is up"},
      {"matrix --world moon", "--world is 'moon'"},
      {"matrix --runs x", "--runs is 'x': virtual runs are repeated"},
      {"check " + bad_kind, "line 2: unknown kind 'dance'"},
  };
  for (const std::string command : kCommands) cases.emplace_back(command + " --dance", "--dance");
  // Where a report goes is looked at before the run and not after it.
  const std::pair<std::string, std::vector<const char*>> writers[]{
      {"verify", {"json", "junit", "report", "summary"}},
      {"simulate", {"json", "junit", "report"}},
      {"soak", {"json", "junit", "report", "history"}},
      {"scenario run --all", {"json", "junit", "report"}},
      {"matrix", {"json", "markdown"}},
      {"check " + rubbish, {"json", "junit", "report"}},
      {"import --oplog " + nothing + " --log " + nothing, {"json", "junit", "report", "scenario"}},
      {"explore", {"json", "junit"}},
      {"prove", {"json", "junit"}},
  };
  for (const auto& [words, options] : writers) {
    for (const std::string option : options) {
      for (const std::string& bad : {std::string("/nowhere/file"), folder, std::string()}) {
        const auto value = "'" + bad + "'";
        cases.emplace_back(words + " --" + option + " " + value, "--" + option + " is " + value);
      }
    }
  }
  for (const auto& [words, sentence] : cases) {
    const auto ran = place.run(words);
    EXPECT_TRUE(ended(ran, 64, sentence)) << words;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << words << ran.out;
    EXPECT_TRUE(place.is_untouched()) << words;
  }
}

/// The template of a store needs no package.
TEST(LabCommand, RefusesWhatAStoreCannotDoByName) {
  const std::string store = LEASEHOLD_SCENARIOS "/stores/template/store";
  const Place place;
  const auto promises = place.file("promises.json", R"({"name":"x"})"),
             documents = place.file("documents.json", R"({"name":"x","document":{"collection":"c",)"
                                                      R"("id":"i","owner":"o"}})"),
             steps_down = place.file("down.scn", "process\nfault step-down at=400\n"),
             script = place.file("script", "#!/bin/sh\necho hello\n");
  std::filesystem::permissions(script, std::filesystem::perms(0755));
  const std::string lock = " --worker true --promises ", on = " --store " + store,
                    sound = on + lock + promises, by_documents = on + lock + documents,
                    needs_a_lock = "it needs the lock that stands on it: ",
                    no_documents = "with --store it must not be there";
  const std::pair<std::string, std::string> refused[]{
      {"verify" + on, needs_a_lock + "--worker COMMAND and --promises FILE"},
      {"verify --store padlock" + lock + promises, "--store is 'padlock': it must be "},
      {"verify --store " + script + lock + promises,
       "about: it answered what is no JSON object: hello"},
      {"verify --uri mongodb://db/" + sound, "leave one of them out"},
      {"verify" + by_documents, no_documents},
      {"verify --faults process,majority" + sound,
       "--faults is 'process,majority': template 1 can have none of 'majority'"},
      {"verify --plan " + steps_down + sound,
       "fault step-down at=400 is none that template 1 can have: "},
      {"soak" + on, needs_a_lock},
      {"soak" + by_documents, no_documents},
      {"scenario run extension-hangs" + on, needs_a_lock},
      {"scenario run step-up-under-a-holder" + sound,
       "scenario 'step-up-under-a-holder': fault step-up at="}};
  for (const auto& [words, sentence] : refused) EXPECT_TRUE(ended(lab(words), 64, sentence));
}

TEST(LabCommand, ALockGivenBesideAPlanFileIsTheOneThatRuns) {
  const Place place;
  const std::string file = LEASEHOLD_SCENARIOS "/documents/distributed-lock-breaks-g1.scn";
  EXPECT_EQ(place.run("simulate " + file + " --runs " + place.root).exit_code, 1);
  const auto ran = place.run("simulate " + file + " --lock leasehold --runs " + place.root);
  EXPECT_NE(ran.exit_code, 1) << ran.out;
  EXPECT_FALSE(has(ran, "violated"));
}

TEST(LabCommand, ReportsAddUpOnlyIfTheyHaveEachSeedOnceOfTheSameCode) {
  const Place place;
  const auto simulate = [&](const std::string& words) { return place.run("simulate " + words); };
  ASSERT_TRUE(ended(simulate("--seeds 1..2 --json a"), 0));
  ASSERT_TRUE(ended(simulate("--seeds 3..4 --json b"), 0));
  ASSERT_TRUE(ended(simulate("--seeds 3..4 --json other --waiting queue"), 0));
  ASSERT_TRUE(ended(simulate("--seeds 1..4 --sum a b --json sum"), 0, "4 runs, "));
  auto code = nlohmann::json::parse(place.read("b"));
  code["part"]["hash_of_seed_1"] = 1;
  const auto other_code = place.file("code", code.dump());
  code = nlohmann::json::parse(place.read("b"));
  code["part"]["report"]["runs"] = 1;
  const auto interrupted = place.file("interrupted", code.dump());
  const std::pair<std::string, const char*> refused[]{
      {"1..5 --sum b a", "--seeds is '1..5': no report has the seeds 5..5\n"},
      {"1..4 --sum b", "no report has the seeds 1..2\n"},
      {"1..4 --sum a b b", "--sum is 'b': its seeds 3..4 are in another report, too"},
      {"2..4 --sum a b", "--sum is 'a': its seeds 1..2 are in another report, too, or not in"},
      {"1..4 --sum sum a", "are in another report, too"},
      {"1..4 --sum a other", "--sum is 'other': its --waiting is 'queue', here it is ''"},
      {"1..4 --sum a b --hash", "--sum is 'a': its --hash is 'false', here it is 'true'"},
      {"1..4 --sum a " + other_code, "code': its hash of seed 1 is '1', here it is"},
      {"1..4 --sum a " + interrupted, "interrupted': it has 1 runs of the seeds 3..4"},
      {"1..4 --sum a " + place.file("plain", "{}"), "it must be a report that simulate --seeds"},
      {"1..4 --sum a " LEASEHOLD_SCENARIOS "/README.md", "it must be a report that simulate"}};
  for (const auto& [words, sentence] : refused) {
    EXPECT_TRUE(ended(simulate("--seeds " + words), 64, sentence)) << words;
  }
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
  EXPECT_TRUE(ended(place.run("check " + history_of_a_death(place, "lock-0", "out of paper")), 1,
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
      ended(place.run("check " + history + " --report out.html --junit out.xml"), 1));
  EXPECT_TRUE(has(place.read("out.xml"), "&lt;a> &amp; &quot;b&quot;\"",
                  "message=\"violated: p0.1 exited"));
  const auto page = place.read("out.html");
  EXPECT_TRUE(has(page, "\\u003c/script>\\u003c!--\\u003cscript>"));
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  EXPECT_FALSE(has(page, "<!--"));
}

TEST(LabCommand, HelpIsThereForAll) {
  EXPECT_TRUE(ended(lab("--help"), 0, "usage: leasehold-lab"));
  for (const std::string command : kCommands) {
    EXPECT_TRUE(ended(lab(command + " --help"), 0, "usage: leasehold-lab")) << command;
  }
}

TEST(LabCommand, ExploreShowsEachKnownFaultOfADocumentsLock) {
  EXPECT_TRUE(ended(lab("explore --lock document-level"), 1,
                    "known fault: expiry by the clock of the client that asks",
                    "known fault: a holder past its lease does not notice",
                    "B's acquire is executed: \"won\"", "verdict: violated"));
}

TEST(LabCommand, ExploreGivesUpAtMaxStatesWithUnknown) {
  const auto ran = lab("explore --scope two-clients --max-states 70000");
  EXPECT_TRUE(ended(ran, 2, "unknown: more than 70000 states"));
}

TEST(LabCommand, ProveShowsWhatFailsInAWeakerDesign) {
  const auto ran = lab("prove --design 'hand-over keeps the old expiresAt'");
  if (ran.out.find("solver: none") != std::string::npos) GTEST_SKIP() << "built without Z3";
  EXPECT_TRUE(ended(ran, 1, "FAILS    stands / hand over", "492 of 493 proved"));
}

TEST(LabCommand, SimulateNamesTheFirstEventThatALeakOfRealTimeChanged) {
  const Place place;
  const auto ran = place.run("simulate --seeds 1 --lock canary-clock --runs " + place.root);
  EXPECT_TRUE(ended(ran, 1, "the same plan gave another history: line ", "at_ns", " against "));
}

TEST(LabCommand, TheKeptScenarioOfTheCanaryFails) {
  const Place place;
  EXPECT_TRUE(ended(place.run("simulate " LEASEHOLD_SCENARIOS "/canary-deletes-by-name.scn --hash"
                              " --runs " + place.root), 1, "\nhash ",
                    "lock 'lock-0': a release or clean-up of p1 deleted the lock of another"));
}

/// Before anything is started: with /bin/true for a mongod it could not go on.
TEST(LabCommand, SaysWhatThisMachineLacksForASetAndHowToGetIt) {
  const Place place;
  const std::string verify = " '" LEASEHOLD_LAB_PROGRAM "' verify --seconds 4 --runs " + place.root;
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

/// What a short command says is written by its last flush alone.
TEST(LabCommand, OutputThatCannotBeWrittenIsAFailure) {
  for (const std::string words : {"--version", "--help", "verify --help", "diagram",
                                  "scenario list", "simulate --seeds 1..3"}) {
    const auto ran = lab(words + " > /dev/full");
    EXPECT_TRUE(ended(ran, 70, "cannot", ": No space left on device\n")) << words;
  }
}

/// Else the first file or connection that is opened gets such a number, and what is printed.
TEST(LabCommand, ClosedDescriptorsBecomeNoFiles) {
  const Place place;
  const auto ran = shell(
      place.cwd,
      "mkfifo history; exec 9<>history; '" LEASEHOLD_LAB_PROGRAM "' check history <&- 9>&- & "
      "until ls -l /proc/$!/fd 2>/dev/null | grep -q ' [3-8] -> .*history'; do :; done; "
      "readlink /proc/$!/fd/0; kill $!");
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
  EXPECT_TRUE(ended(place.run("check " + file + " --json out.json"), 2));
  EXPECT_TRUE(has(place.read("out.json"), "\"verdict\": \"unknown\""));
}

TEST(LabCommand, StoriesAreListedShownAndRunWithAPageForEachLock) {
  const Place place;
  EXPECT_TRUE(ended(lab("scenario list"), 0, "time-and-the-holder\n"));
  EXPECT_TRUE(has(lab("scenario show extension-hangs"), "# Reported: "));
  const auto ran = place.run(
      "scenario run extension-hangs --report story.html --json out.json --junit out.xml");
  EXPECT_TRUE(ended(ran, 0, "A loses lock-0: deadline", "G2 violated",
                    " A answers that it holds lock-0\n", "held() was true in A and B at once"));
  EXPECT_FALSE(has(ran, "\"at_ns\"")) << "its events are in words";
  EXPECT_TRUE(std::filesystem::exists(place.cwd + "/story-leasehold.html")) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(place.cwd + "/story-distributed-lock.html")) << ran.out;
  EXPECT_FALSE(std::filesystem::exists(place.cwd + "/story.html"));
  EXPECT_TRUE(has(place.read("out.xml"), "failures=\"0\"", "extension-hangs: with leasehold"));
}

TEST(LabCommand, AStoryThatComesOutOtherwiseIsAFailure) {
  const Place place;
  const auto shown = lab("scenario show extension-hangs").out;
  place.file("changed.scn", shown + "and they lived happily ever after\n");
  EXPECT_TRUE(ended(place.run("scenario run changed --folder " + place.root), 1,
                    "the result differs from its file"));
}

TEST(LabCommand, ANewStoryReproducesWhatItSaysAndOverwritesNone) {
  const Place place;
  const auto begun = place.run("scenario new mine.scn");
  ASSERT_EQ(begun.exit_code, 0) << begun.out;
  EXPECT_TRUE(ended(place.run("scenario run mine.scn"), 0, "reproduces G2"));
  const auto again = place.run("scenario new mine.scn");
  EXPECT_TRUE(ended(again, 64, "'mine.scn': it must not exist yet"));
}

TEST(LabCommand, AStoryThatDoesNotReproduceItsFailureSaysSo) {
  const Place place;
  const auto story = place.file("calm.scn",
                                "# locks: leasehold\n# reproduces: G2 G5\nlocks 1\nfaulty 1000\n"
                                "process expiry=900 scripted=1\n"
                                "step acquire at=0 timeout=300\nstep release at=200\n");
  const auto ran = place.run("scenario run " + story);
  EXPECT_TRUE(ended(ran, 1, "does not reproduce G2 G5  NOT AS EXPECTED"));
}

}  // namespace
}  // namespace leasehold::lab
