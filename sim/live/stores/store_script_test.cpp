#include "sim/live/stores/scripted_servers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/live/error_of.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;
using K = FaultPlan::Kind;

const std::string kAboutStore =
    R"({"name":"s 1","members":2,"ports":["client"],"uri":"s://{0.client}","faults":["crash",)"
    R"("kill-two"]})";

/// A store in the shell's language, of which each verb is one line.
class Script {
 public:
  explicit Script(const std::string& about, const std::string& others = "") {
    std::ofstream(path) << "#!/bin/sh\ncase $1 in\nabout) echo '" << about << "' ;;\n"
                        << others << "\nesac\n";
    fs::permissions(path, fs::perms(0755));
  }
  ~Script() { fs::remove(path); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  const std::string path =
      testing::TempDir() + "leasehold-store-script-" + std::to_string(getpid());
};

std::string error_about(const std::string& about) {
  const Script script(about);
  const auto error = error_of([&] { StoreScript{script.path}; });
  const auto begin = "store '" + script.path + "': about: ";
  return error.starts_with(begin) ? error.substr(begin.size()) : error;
}

TEST(StoreScript, SaysWhatItsStoreIsOrThatItIsMissing) {
  const Script script(kAboutStore);
  const StoreScript store(script.path);
  EXPECT_EQ(store.about().name, "s 1");
  EXPECT_EQ(store.about().members, 2);
  EXPECT_EQ(store.about().faults, std::set<K>{K::kill_two}) << "processes can always crash";
  EXPECT_EQ(store.about().recovers_ms, 3'000);
  const Script missing(R"({"name":"s","missing":"s: install it"})");
  EXPECT_EQ(StoreScript(missing.path).about().missing, "s: install it");
}

TEST(StoreScript, EachWrongAnswerIsNamed) {
  EXPECT_EQ(error_about("hello"), "it answered what is no JSON object: hello");
  EXPECT_NE(error_about(R"({"name":"s"})").find("members"), std::string::npos);
  EXPECT_EQ(error_about(R"({"name":"s","members":0,"ports":["c"],"uri":"u"})"),
            "'members' is 0: it must be 1 to 16");
  EXPECT_EQ(error_about(R"({"name":"s","members":1,"ports":[],"uri":"u"})"), "'ports' is empty");
  for (const char* fault : {"ttl-off", "earthquake"}) {
    EXPECT_EQ(error_about(R"({"name":"s","members":1,"ports":["c"],"uri":"u","faults":[")" +
                          std::string(fault) + R"("]})"),
              "'faults' has '" + std::string(fault) + "', which a script's servers cannot have");
  }
}

TEST(StoreScript, ItsVerbsAreReadAndTheirFailuresKeepTheirWords) {
  const Script script(kAboutStore,
                      "prepare) read layout; echo \"{\\\"members\\\":[{\\\"command\\\":[\\\"a\\\","
                      "\\\"b\\\"],\\\"environment\\\":{\\\"K\\\":\\\"V\\\"}}]}\" ;;\n"
                      "ready) exit 1 ;;\n"
                      "leader) echo '{\"leader\":1}' ;;\n"
                      "lead) [ $2 = 1 ] && echo '{}' ;;\n"
                      "rejoin) echo bye >&2; exit 3 ;;");
  const StoreScript store(script.path);
  const StoreScript::Json layout{{"folder", "f"}};
  EXPECT_EQ(error_of([&] { (void)store.prepare(layout); }),
            "store 's 1': prepare: it answered 1 members, and has 2");
  EXPECT_FALSE(store.ready(layout));
  EXPECT_EQ(store.leader(layout), 1);
  EXPECT_TRUE(store.lead(1, layout));
  EXPECT_FALSE(store.lead(0, layout));
  EXPECT_EQ(error_of([&] { (void)store.rejoin(1, layout); }), "store 's 1': rejoin 1: bye");
}

}  // namespace
}  // namespace leasehold::sim::live
