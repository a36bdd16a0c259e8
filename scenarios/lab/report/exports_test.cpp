#include "scenarios/lab/report/report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/history/digest.hpp"
#include "model/verdict/checkers.hpp"
#include "properties/campaigns/simulate.hpp"
#include "scenarios/lab/run_program.hpp"

namespace leasehold::lab {
namespace {

using nlohmann::json;

std::string exported(const model::History& history) {
  std::ostringstream out;
  write_operations(out, history);
  return out.str();
}

properties::Simulated run_of(std::uint64_t seed, const std::string& lock) {
  return properties::simulate(properties::draw_plan(seed, {.lock = lock, .faulty_ms = 3'000}));
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
      EXPECT_EQ(is_linearizable(exported(one.run.history)), !two_at_once)
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
      const auto operations = exported(run_of(seed, lock).run.history);
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
