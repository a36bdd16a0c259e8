#include "scenarios/lab/exports.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "model/checkers.hpp"
#include "model/digest.hpp"
#include "properties/simulate.hpp"
#include "scenarios/lab/run_program.hpp"

namespace leasehold::lab {
namespace {

using model::Kind;
using nlohmann::json;

std::string exported(const std::string& format, const model::History& history) {
  std::ostringstream out;
  for (const auto& each : export_formats()) {
    if (each.name == format) each.write(out, history);
  }
  return out.str();
}

properties::Simulated run_of(std::uint64_t seed, const std::string& lock) {
  properties::PlanLimits limits;
  limits.lock = lock;
  limits.faulty_ms = 3'000;
  return properties::simulate(properties::draw_plan(seed, limits));
}

std::int64_t count_of(const model::History& history, Kind kind) {
  return std::count_if(history.begin(), history.end(),
                       [&](const model::Event& e) { return e.kind == kind; });
}

TEST(Exports, PerfettoHasASliceOfEachHoldingInALaneOfItsOwn) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto history = run_of(seed, "leasehold").run.history;
    const auto trace = json::parse(exported("perfetto", history));
    std::int64_t holdings = 0;
    std::map<std::pair<int, int>, double> busy_until;
    for (const auto& e : trace.at("traceEvents")) {
      if (e.at("ph") == "M") continue;
      EXPECT_GE(e.at("ts").get<double>(), 0);
      const auto name = e.at("name").get<std::string>();
      if (!name.starts_with("holds ") && !name.starts_with("waits ")) continue;
      auto& until = busy_until[{e.at("pid"), e.at("tid")}];
      EXPECT_GE(e.at("ts").get<double>(), until - 0.001) << e;  // slices of a lane must not overlap
      EXPECT_GE(e.at("dur").get<double>(), 0) << e;
      until = e.at("ts").get<double>() + e.at("dur").get<double>();
      holdings += name.starts_with("holds ") ? 1 : 0;
    }
    EXPECT_EQ(holdings, count_of(history, Kind::granted));
    EXPECT_GT(holdings, 0);
  }
}

/// What Jepsen asks of a history: a process does one thing at a time, and none after an :info.
TEST(Exports, AProcessOfJepsenDoesOneThingAtATime) {
  const std::regex line(
      R"re(\{:index (\d+), :time (\d+), :process (\S+), :type :(\w+), :f :(\S+), :value .*\})re");
  int unknown = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::istringstream lines(exported("jepsen", run_of(seed, "leasehold").run.history));
    std::map<std::string, std::string> under_way;
    std::set<std::string> ended;
    std::int64_t last_time = 0;
    for (std::string text; std::getline(lines, text);) {
      std::smatch match;
      ASSERT_TRUE(std::regex_match(text, match, line)) << text;
      EXPECT_GE(std::stoll(match[2]), last_time);
      last_time = std::stoll(match[2]);
      const std::string process = match[3], type = match[4], f = match[5];
      if (process == ":nemesis") continue;
      EXPECT_FALSE(ended.contains(process)) << text;
      if (type == "invoke") {
        EXPECT_TRUE(under_way.emplace(process, f).second) << text;
        continue;
      }
      EXPECT_EQ(under_way[process], f) << text;
      under_way.erase(process);
      if (type == "info") ended.insert(process), ++unknown;
    }
  }
  EXPECT_GT(unknown, 0);
}

struct Holding {
  std::int64_t acquired = 0, release_called = 0;
};

/// As an object that is free or taken, each lock's operations have an order exactly if of no two
/// holdings each began before the other's end.
bool is_linearizable(const std::string& operations) {
  std::map<std::string, std::vector<Holding>> of_lock;
  const auto parsed = json::parse(operations);
  for (const auto& o : parsed.at("operations")) {
    auto& holdings = of_lock[o.at("lock")];
    EXPECT_LE(o.at("call_ns"), o.at("return_ns")) << o;
    if (o.at("operation") == "acquire") {
      holdings.push_back({o.at("return_ns"), 0});
    } else {
      holdings.back().release_called = o.at("call_ns");
    }
  }
  for (const auto& [name, holdings] : of_lock) {
    for (std::size_t i = 0; i < holdings.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (holdings[i].acquired < holdings[j].release_called &&
            holdings[j].acquired < holdings[i].release_called) {
          return false;
        }
      }
    }
  }
  return true;
}

TEST(Exports, PorcupinesOperationsAreLinearizableExactlyIfG2Holds) {
  int broken = 0, kept = 0;
  for (const char* lock : {"leasehold", "document-level", "distributed-lock"}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto one = run_of(seed, lock);
      const auto g2 = model::check_exclusion(model::digest(one.run.history));
      const bool two_at_once = g2.why.find(" at once ") != std::string::npos;
      EXPECT_EQ(is_linearizable(exported("porcupine", one.run.history)), !two_at_once)
          << lock << " with seed " << seed << ": " << g2.why;
      ++(two_at_once ? broken : kept);
    }
  }
  EXPECT_GE(broken, 5);
  EXPECT_GE(kept, 20);
}

/// By Porcupine itself (others/porcupine), on what the command would write.
TEST(Exports, PorcupineFindsThemLinearizableExactlyIfWeDo) {
  const std::string program = LEASEHOLD_LOCKCHECK;
  if (!std::filesystem::exists(program)) {
    GTEST_SKIP() << "Porcupine: scripts/others --porcupine builds it";
  }
  const std::string file = testing::TempDir() + "/exported-" + std::to_string(getpid()) + ".json";
  int broken = 0, kept = 0;
  for (const char* lock : {"leasehold", "document-level", "distributed-lock"}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto operations = exported("porcupine", run_of(seed, lock).run.history);
      std::ofstream(file) << operations;
      const auto ran = run_program({program, file});
      const bool linearizable = is_linearizable(operations);
      EXPECT_EQ(ran.exit_code, linearizable ? 0 : 1)
          << lock << ", seed " << seed << ": " << ran.out;
      ++(linearizable ? kept : broken);
    }
  }
  std::filesystem::remove(file);
  EXPECT_GE(broken, 5);
  EXPECT_GE(kept, 20);
}

}  // namespace
}  // namespace leasehold::lab
