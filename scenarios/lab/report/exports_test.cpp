#include "scenarios/lab/report/report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/history/digest.hpp"
#include "model/verdict/checkers.hpp"
#include "properties/campaigns/simulate.hpp"
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

/// Gives `judged`, which says whether it is linearizable, each run of some locks and what the
/// command would write of it.
void expect_some_of_both(
    const std::function<bool(const model::History&, const std::string& operations)>& judged) {
  int broken = 0, kept = 0;
  for (const char* lock : {"leasehold", "document-level", "distributed-lock"}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(lock + (" with seed " + std::to_string(seed)));
      const auto history =
          properties::simulate(properties::draw_plan(seed, {.lock = lock, .faulty_ms = 3'000}))
              .run.history;
      std::ostringstream operations;
      write_operations(operations, history);
      ++(judged(history, operations.str()) ? kept : broken);
    }
  }
  EXPECT_GE(broken, 5);
  EXPECT_GE(kept, 20);
}

TEST(Exports, PorcupinesOperationsAreLinearizableExactlyIfG2Holds) {
  expect_some_of_both([](const auto& history, const auto& operations) {
    const auto g2 = model::check_exclusion(model::digest(history));
    const bool two_at_once = g2.why.find(" at once ") != std::string::npos;
    EXPECT_EQ(is_linearizable(operations), !two_at_once) << g2.why;
    return !two_at_once;
  });
}

/// By Porcupine itself (others/porcupine).
TEST(Exports, PorcupineFindsThemLinearizableExactlyIfWeDo) {
  const std::string program = LEASEHOLD_LOCKCHECK;
  if (!std::filesystem::exists(program)) {
    GTEST_SKIP() << "Porcupine: scripts/others --porcupine builds it";
  }
  const std::string file = testing::TempDir() + "/exported-" + std::to_string(getpid()) + ".json";
  expect_some_of_both([&](const auto&, const auto& operations) {
    std::ofstream(file) << operations;
    const auto ran = run_program({program, file});
    const bool linearizable = is_linearizable(operations);
    EXPECT_EQ(ran.exit_code, linearizable ? 0 : 1) << ran.out;
    return linearizable;
  });
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace leasehold::lab
