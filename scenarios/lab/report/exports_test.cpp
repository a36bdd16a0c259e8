#include "scenarios/lab/lab.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/history/digest.hpp"
#include "model/verdict/checkers.hpp"
#include "properties/campaigns/campaign.hpp"
#include "scenarios/lab/ran_fixture.hpp"

namespace leasehold::lab {
namespace {

using nlohmann::json;

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

/// Porcupine itself (others/porcupine) says the same, where `scripts/others --porcupine` built it.
TEST(Exports, PorcupinesOperationsAreLinearizableExactlyIfG2Holds) {
  const std::string program = LEASEHOLD_LOCKCHECK;
  const std::string file = testing::TempDir() + "/exported-" + std::to_string(getpid()) + ".json";
  int broken = 0, kept = 0;
  for (const char* lock : {"leasehold", "document-level", "distributed-lock"}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(lock + (" with seed " + std::to_string(seed)));
      const auto history =
          properties::simulate(properties::draw_plan(seed, {.lock = lock, .faulty_ms = 3'000}))
              .run.history;
      std::ostringstream operations;
      write_operations(operations, history);
      const bool linearizable = is_linearizable(operations.str());
      const auto g2 = model::check_exclusion(model::digest(history));
      EXPECT_EQ(linearizable, g2.why.find(" at once ") == std::string::npos) << g2.why;
      ++(linearizable ? kept : broken);
      if (!std::filesystem::exists(program)) continue;
      std::ofstream(file) << operations.str();
      const auto ran = run_program({program, file});
      EXPECT_EQ(ran.exit_code, linearizable ? 0 : 1) << ran.out;
    }
  }
  std::filesystem::remove(file);
  EXPECT_GE(broken, 5);
  EXPECT_GE(kept, 20);
}

}  // namespace
}  // namespace leasehold::lab
