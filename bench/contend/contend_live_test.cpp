#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/live/servers/replica_set.hpp"

/// The command itself, for a second or two at a time: that every request is there, not how long
/// anything took.
namespace leasehold::bench {
namespace {

using sim::live::ReplicaSet;

struct Ran {
  int code = -1;
  std::string said;  ///< both outputs
};

Ran run(const std::string& arguments) {
  Ran ran;
  const auto command = std::string(LEASEHOLD_BENCH_PROGRAM) + " " + arguments + " 2>&1";
  FILE* output = popen(command.c_str(), "r");
  std::array<char, 4'096> buffer{};
  while (fgets(buffer.data(), buffer.size(), output) != nullptr) ran.said += buffer.data();
  ran.code = WEXITSTATUS(pclose(output));
  return ran;
}

using Row = std::map<std::string, std::string>;

std::vector<Row> read_csv(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> names;
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line + ",");
    std::vector<std::string> values;
    for (std::string field; std::getline(fields, field, ',');) values.push_back(field);
    if (names.empty()) {
      names = values;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = values.at(i);
    rows.push_back(row);
  }
  return rows;
}

class Contend : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Row> rows_of(const std::string& arguments) {
    const auto ran = run("contend --uri '" + servers().uri() + "' --warm-up 0 --seconds 1 --out " +
                         folder_.folder() + " " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.said;
    return read_csv(folder_.folder() + "/samples.csv");
  }
  [[nodiscard]] std::vector<Row> runs() const { return read_csv(folder_.folder() + "/runs.csv"); }

  static ReplicaSet& servers() {
    static ReplicaSet set;
    return set;
  }

  sim::live::Janitor folder_;
};

std::int64_t number(const Row& row, const std::string& name) { return std::stoll(row.at(name)); }

TEST_F(Contend, EveryAcquisitionHasItsRowThoseThatWaitedAtTheEndIncluded) {
  // Two clients, no pause and 300 ms held: when the second is over, one holds and one waits.
  const auto rows = rows_of(
      "--clients 2 --strategy adaptive,queue --repetitions 2 --hold constant:300ms "
      "--arrivals closed:0ms");
  std::map<std::int64_t, std::vector<Row>> by_run;
  for (const auto& row : rows) by_run[number(row, "run")].push_back(row);
  ASSERT_EQ(by_run.size(), 4u) << "two strategies, two repetitions";
  for (auto& [run, of_run] : by_run) {
    std::int64_t censored = 0, last_release = -1;
    std::sort(of_run.begin(), of_run.end(), [](const Row& a, const Row& b) {
      return number(a, "granted_ns") < number(b, "granted_ns");
    });
    for (const auto& row : of_run) {
      EXPECT_LT(number(row, "asked_ns"), 1'000'000'000) << "nothing new after the end";
      EXPECT_LE(number(row, "asked_ns"), number(row, "granted_ns")) << "all are served";
      EXPECT_GE(number(row, "granted_ns"), last_release) << "one at a time";
      last_release = number(row, "released_ns");
      EXPECT_GE(last_release, number(row, "granted_ns") + 300'000'000);
      const bool late = number(row, "granted_ns") >= 1'000'000'000;
      EXPECT_EQ(number(row, "censored"), late ? 1 : 0);
      censored += late ? 1 : 0;
    }
    EXPECT_GE(censored, 1) << "who waited at the end was served after it, and is marked";
  }
  for (const auto& row : runs()) EXPECT_GT(number(row, "writes"), 0);
}

TEST_F(Contend, RepetitionsAreInterleavedAndGetTheSameSeed) {
  (void)rows_of("--clients 2 --strategy uniform,adaptive --repetitions 2");
  const auto all = runs();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].at("repetition"), "1");
  EXPECT_EQ(all[1].at("repetition"), "1");
  EXPECT_NE(all[0].at("strategy"), all[1].at("strategy"));
  EXPECT_EQ(all[0].at("seed"), all[1].at("seed"));
  EXPECT_NE(all[0].at("seed"), all[2].at("seed"));
}

TEST_F(Contend, ClientsMayBeProcessesAndOneMayStandBeside) {
  const auto rows = rows_of(
      "--clients 2 --processes --beside uniform --strategy adaptive "
      "--repetitions 1");
  std::map<std::string, int> by_client;
  for (const auto& row : rows) ++by_client[row.at("client")];
  EXPECT_EQ(by_client.size(), 3u);
}

TEST_F(Contend, AnOpenLoopServesItsBacklog) {
  const auto rows = rows_of(
      "--clients 2 --strategy uniform --repetitions 1 --arrivals open:150 "
      "--hold exponential:10ms --locks zipf:3");
  EXPECT_GT(rows.size(), 20u);
  for (const auto& row : rows) EXPECT_FALSE(row.at("released_ns").empty());
}

TEST_F(Contend, AStrategyOfOnesOwnIsLoadedFromItsFile) {
  const std::string program = LEASEHOLD_BENCH_PROGRAM;
  const auto own = program.substr(0, program.rfind('/')) + "/own_strategy.so";
  const auto rows = rows_of("--clients 2 --repetitions 1 --strategy " + own);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].at("strategy"), "own_strategy");
}

TEST_F(Contend, AWorkersLockStandsBesideTheStrategies) {
  const auto rows = rows_of(
      "--clients 2 --repetitions 1 --strategy uniform --worker '/usr/bin/python3 "
      LEASEHOLD_PYTHON_WORKER "'");
  std::map<std::string, int> by_strategy;
  for (const auto& row : rows) {
    by_strategy[row.at("strategy")] += row.at("granted_ns").empty() ? 0 : 1;
  }
  EXPECT_GT(by_strategy["worker"], 2);
  EXPECT_GT(by_strategy["uniform"], 2);
  for (const auto& run : runs()) {
    EXPECT_EQ(run.at("writes").empty(), run.at("strategy") == "worker") << "nobody can count them";
  }
}

TEST_F(Contend, AWorkerThatEndsIsNamed) {
  const auto ran = run("contend --uri '" + servers().uri() +
                       "' --warm-up 0 --seconds 1 --clients 1 --repetitions 1 --strategy uniform "
                       "--worker 'exit 3' --out " + folder_.folder());
  EXPECT_EQ(ran.code, 70) << ran.said;
  EXPECT_NE(ran.said.find("the worker ended"), std::string::npos) << ran.said;
}

TEST_F(Contend, ARoundTripIsAddedByTheProxy) {
  const auto ran =
      run("contend --clients 1 --strategy uniform --repetitions 1 --warm-up 0 "
          "--seconds 1 --round-trip 20ms --out " +
          folder_.folder());
  ASSERT_EQ(ran.code, 0) << ran.said;
  ASSERT_EQ(runs().size(), 1u);
  EXPECT_GE(std::stod(runs()[0].at("write_ms")), 20);
  for (const auto& row : read_csv(folder_.folder() + "/samples.csv")) {
    EXPECT_GE(number(row, "granted_ns") - number(row, "asked_ns"), 20'000'000);
  }
}

TEST_F(Contend, TheVirtualWorldTakesTheSameOptions) {
  const auto ran =
      run("contend --world virtual --clients 4 --strategy uniform --seconds 2 "
          "--round-trip 10ms --locks many:2 --out " +
          folder_.folder());
  ASSERT_EQ(ran.code, 0) << ran.said;
  EXPECT_EQ(runs().size(), 10u) << "ten seeds";
}

TEST(ContendOptions, AWrongOneIsOneClearError) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--strategy quickest", "--strategy is 'quickest': it must be one of uniform,"},
      {"--strategy uniform,uniform", "--strategy has 'uniform' twice"},
      {"--clients 0", "--clients is 0: it must be 1 to 10000"},
      {"--clients many", "clients"},
      {"--hold 5ms", "--hold is '5ms': it must be constant:TIME"},
      {"--arrivals open", "--arrivals is 'open': it must be"},
      {"--locks zipf", "--locks is 'zipf': it must be"},
      {"--round-trip soon", "--round-trip is 'soon': it must be a duration"},
      {"--world real", "--world is 'real': it must be live or virtual"},
      {"--world virtual --processes", "--processes needs --world live"},
      {"--uri mongodb://127.0.0.1:1/?replicaSet=rs --round-trip 1ms", "leave out --uri"},
      {"--uri mongodb://127.0.0.1:1/?replicaSet=rs", "no primary answers there"},
      {"--worker ''", "--worker is '': it must be a command"},
      {"--world virtual --worker true", "--worker needs --world live"},
      {"--seconds 0", "--seconds is 0: it must be 1 to 3600"},
      {"--out /dev/null/x", "--out is '/dev/null/x': it must be a folder"},
      {"--out ''", "--out is '': it must be a folder"},
      {"--quickly", "quickly"},
  };
  for (const auto& [arguments, error] : wrong) {
    const auto ran = run(std::string("contend ") + arguments);
    EXPECT_EQ(ran.code, 64) << arguments << ": " << ran.said;
    EXPECT_NE(ran.said.find(error), std::string::npos) << arguments << ": " << ran.said;
    EXPECT_EQ(std::count(ran.said.begin(), ran.said.end(), '\n'), 1) << ran.said;
  }
}

TEST(ContendOptions, NoFolderIsMadeWhereNoServerAnswers) {
  const auto folder = testing::TempDir() + "leasehold-contend-" + std::to_string(getpid());
  const auto ran = run("contend --uri mongodb://127.0.0.1:1/?replicaSet=rs --worker true --out " +
                       folder);
  EXPECT_EQ(ran.code, 64) << ran.said;
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(ContendOptions, HelpNamesThemAll) {
  const auto ran = run("contend --help");
  EXPECT_EQ(ran.code, 0);
  for (const char* option : {"--strategy", "--hold", "--arrivals", "--locks", "--round-trip",
                             "--processes", "--uri", "--seconds", "--repetitions", "--seed"}) {
    EXPECT_NE(ran.said.find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace leasehold::bench
