#include <algorithm>

#include "scenarios/lab/lab_fixture.hpp"

/// What the laboratory's command refuses, and how.
namespace leasehold::lab {
namespace {

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
             kills = place.file("kill.scn", "process\nfault kill-member at=700 for=300\n"),
             bad_fault = place.file("fire.scn", "lock leasehold\nfault fire\n"),
             bad_kind = place.file("bad-history.jsonl", "{\"at_ns\":1,\"kind\":\"run\"}\n"
                                                        "{\"at_ns\":2,\"kind\":\"dance\"}\n");
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
       "fault step-down at=400 is none that your own set, whose servers are left alone, can have: "
       "crash, pause, cut-link, refuse-link, slow-link, lost-replies, late-requests, "},
      {{"verify", "--uri", "mongodb://db/", "--plan", kills}, "fault kill-member at=700 is none"},
      {{"verify", "--uri", "mongodb://db/", "--faults", "process,ttl"},
       "--faults is 'process,ttl': your own set, whose servers are left alone, can have none of "
       "'ttl', only crash, pause, "},
      {{"verify", "--uri", "mongodb://db/?tls=true"}, "--uri has TLS"},
      {{"verify", "--uri", "mongodb://db/?appName=x"}, "--uri has appName"},
      {{"verify", "extra"}, "positional"},
      {{"certify"}, "no replica set: give its URI by --uri or LEASEHOLD_URI"},
      {{"certify", "--uri", "nonsense"}, "uri: "},
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
      {{"scenario"}, "it must be list, show, run or new"},
      {{"scenario", "run", bad_field}, "line 1: waiting is 'eager'"},
      {{"scenario", "run", folder}, "scenario is '"},
      {{"scenario", "list", "--folder", "/nowhere"}, "--folder is '/nowhere'"},
      {{"scenario", "run", "--all", "--tries", "0"}, "--tries is 0"},
      {{"scenario", "run", "--all", "--promises", nothing}, "one of them is missing"},
      {{"scenario", "run", "--all", "--worker", "true", "--promises", nothing}, "are no JSON"},
      {{"scenario", "run", "--all", "--lock", "padlock"}, "--lock is 'padlock'"},
      {{"scenario", "run", steps_down, "--uri", "mongodb://db/"},
       "scenario 'down': fault step-down at=400 is none that your own set"},
      {{"scenario", "run", "successor-clock-ahead", "--uri", "mongodb://db/"},
       "is none that your own set"},
      {{"scenario", "run", "release-unanswered", "--uri", "mongodb://db/?tls=true"},
       "--uri has TLS"},
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
      {{"explore", "--core"}, "unrecognised option '--core'"},
      {{"explore", "--stories", nothing}, "--stories is '"},
      {{"diagram", "nope"}, "table is 'nope'"},
      {{"prove", "--design", "none-such"}, "--design is 'none-such'"},
      {{"prove", "--timeout", "0"}, "--timeout is 0"},
      {{"verify", "--processes", "0"}, "--processes is 0: it must be 1 to 256"},
      {{"verify", "--locks", "-1"}, "--locks is -1: it must be 1 to 1000"},
      {{"verify", "--seconds", "soon"}, "soon"},
      {{"verify", "--lock", "padlock"}, "--lock is 'padlock'"},
      {{"verify", "--json", "/nowhere/out.json"},
       "--json is '/nowhere/out.json': it must be a file that can be written"},
      {{"check", "/nowhere/history"}, "history is '/nowhere/history'"},
      {{"check"}, "history"},
      {{"dance"}, "unknown subcommand 'dance'"},
      {{}, "no subcommand"},
      {{"explore", "--lock", "etcd"}, "--lock is 'etcd'"},
      {{"explore", "--variant", "none-such"}, "--variant is 'none-such'"},
      {{"explore", "--lock", "insert-unique", "--variant", "no-margin"},
       "only leasehold has variants"},
      {{"explore", "--scope", "huge"}, "--scope is 'huge'"},
      {{"simulate", "--seeds", "ten"}, "--seeds is 'ten'"},
      {{"simulate", "--seeds", "9..3"}, "the range is empty"},
      {{"simulate", "--history", "/tmp/h"}, "it needs a single run"},
      {{"simulate", "/nowhere.scn"}, "plan is '/nowhere.scn': it cannot be read"},
      {{"verify", "--faults", "clock,fire"}, "'fire' is none of all, none, process"},
      {{"scenario", "run", "nope"}, "scenario is 'nope': it must be one that"},
      {{"scenario", "run"}, "name stories, or use --all"},
      {{"scenario", "dance"}, "it must be list, show, run or new"},
      {{"scenario", "run", "--all", "--world", "moon"}, "--world is 'moon'"},
      {{"cluster", "sing"}, "it must be up, status, step-up, skew or down"},
      {{"cluster", "status", "--state", "/nowhere"}, "no cluster is up"},
      {{"matrix", "--world", "moon"}, "--world is 'moon'"},
      {{"matrix", "--runs", "x"}, "--runs is 'x': virtual runs are repeated"},
      {{"simulate", bad_fault}, "line 2: unknown fault 'fire'"},
      {{"check", bad_kind}, "line 2: unknown kind 'dance'"},
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
    EXPECT_TRUE(ended(ran, 64, sentence)) << line;
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
  const auto on = [&](std::vector<std::string> command, const std::string& named,
                      const std::string& promised, const std::vector<std::string>& more = {}) {
    command.insert(command.end(), {"--store", named});
    if (!promised.empty()) {
      command.insert(command.end(), {"--worker", "true", "--promises", promised});
    }
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const std::string needs_a_lock = "it needs the lock that stands on it: ",
                    no_documents = "with --store it must not be there";
  const std::pair<std::vector<std::string>, std::string> refused[]{
      {on({"verify"}, store, ""), needs_a_lock + "--worker COMMAND and --promises FILE"},
      {on({"verify"}, "padlock", promises), "--store is 'padlock': it must be "},
      {on({"verify"}, script, promises), "about: it answered what is no JSON object: hello"},
      {on({"verify"}, store, promises, {"--uri", "mongodb://db/"}), "leave one of them out"},
      {on({"verify"}, store, documents), no_documents},
      {on({"verify"}, store, promises, {"--faults", "process,majority"}),
       "--faults is 'process,majority': template 1 can have none of 'majority'"},
      {on({"verify"}, store, promises, {"--plan", steps_down}),
       "fault step-down at=400 is none that template 1 can have: "},
      {on({"soak"}, store, ""), needs_a_lock},
      {on({"soak"}, store, documents), no_documents},
      {on({"scenario", "run", "extension-hangs"}, store, ""), needs_a_lock},
      {on({"scenario", "run", "step-up-under-a-holder"}, store, promises),
       "scenario 'step-up-under-a-holder': fault step-up at="}};
  for (const auto& [words, sentence] : refused) EXPECT_TRUE(ended(lab(words), 64, sentence));
}

}  // namespace
}  // namespace leasehold::lab
