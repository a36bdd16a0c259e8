#include <fstream>

#include "scenarios/lab/ran_fixture.hpp"
#include "sim/live/live_test.hpp"
#include "sim/live/system/mongo_client.hpp"

/// `import --uri`: the oplog of a real set, and the log of an application that used our lock.
namespace leasehold::lab {
namespace {

using namespace sim::live;

std::int64_t since_1970_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Import : public testing::Test {
 protected:
  void log(const std::string& process, const std::string& what) {
    log_ << since_1970_ms() << ' ' << process << " report " << what << std::endl;
  }
  /// By a provider of its own.
  LockHandle acquire(const std::string& process) {
    const auto& provider = providers_.emplace_back(std::make_unique<CountedProvider>(database_));
    const auto lock = provider->lock("report", milliseconds(5'000));
    log(process, "asked lease_ms=5000 timeout_ms=5000");
    auto handle = lock.try_acquire(seconds(5)).value();
    log(process, "granted token=" + std::to_string(handle.fencing_token().value()));
    return handle;
  }
  void release(const std::string& process, LockHandle& handle) {
    log(process, "releasing");
    log(process, to_string(handle.release()));
  }
  [[nodiscard]] Ran imported() const {
    return run_program({LEASEHOLD_LAB_PROGRAM, "import", "--uri", shared_set().uri(), "--since",
                        std::to_string(began_ms_), "--database", database_, "--log", file_,
                        "--clock-error", "20"});
  }

  const std::string database_ = fresh_database();
  Janitor janitor_;
  const std::string file_ = janitor_.folder() + "/service.log";
  std::ofstream log_{file_};
  const std::int64_t began_ms_ = since_1970_ms() - 1'000;
  std::vector<std::unique_ptr<CountedProvider>> providers_;
};

TEST_F(Import, ConsecutiveHoldingsViolateNothing) {
  for (const char* process : {"p1", "p2", "p1"}) {
    auto handle = acquire(process);
    std::this_thread::sleep_for(milliseconds(100));
    release(process, handle);
    std::this_thread::sleep_for(milliseconds(100));
  }
  const auto ran = imported();
  EXPECT_FALSE(has(ran, "violated"));
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
}

/// What an administrator's delete does to any lock: its holder goes on, and the next one gets it.
TEST_F(Import, TwoHoldersAfterADocumentWasDeletedAreFound) {
  auto first = acquire("p1");
  std::this_thread::sleep_for(milliseconds(100));
  MongoClient(shared_set().uri())
      .must(database_, {{"delete", kLockCollection},
                        {"deletes", {{{"q", {{"_id", "report"}}}, {"limit", 1}}}}});
  auto second = acquire("p2");
  std::this_thread::sleep_for(milliseconds(100));
  log("p1", first.held() ? "held" : "not_held");
  release("p2", second);
  release("p1", first);
  EXPECT_TRUE(ended(imported(), 1, "G2 violated"));
}

}  // namespace
}  // namespace leasehold::lab
