#include "sim/live/run/stall_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;

class ADiskWait : public testing::Test {
 protected:
  ADiskWait() { fs::remove_all(tasks_); }
  ~ADiskWait() override { fs::remove_all(tasks_); }

  void thread(const std::string& id, char state, const std::string& ran) {
    fs::create_directories(tasks_ + id);
    std::ofstream(tasks_ + id + "/stat") << id << " (a (worker)) " << state << " 1 2 3\n";
    std::ofstream(tasks_ + id + "/schedstat") << ran << '\n';
  }

  const std::string tasks_ = testing::TempDir() + "disk-waits-" + std::to_string(getpid()) + "/";
  DiskWaits waits_{tasks_};
};

TEST_F(ADiskWait, IsSaidWhenItHasEnded) {
  thread("7", 'S', "100 5 3");
  EXPECT_FALSE(waits_.look(1'000));
  thread("7", 'D', "120 5 4");
  EXPECT_FALSE(waits_.look(2'000));
  EXPECT_FALSE(waits_.look(3'000));
  thread("7", 'R', "120 5 4");
  const auto found = waits_.look(4'000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->from_ns, 2'000);
  EXPECT_EQ(found->to_ns, 4'000);
  EXPECT_FALSE(waits_.look(5'000));
}

TEST_F(ADiskWait, IsAnotherOneIfTheThreadRanInBetween) {
  thread("7", 'D', "100 5 3");
  EXPECT_FALSE(waits_.look(1'000));
  thread("7", 'D', "130 5 4");
  const auto first = waits_.look(2'000);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->from_ns, 1'000);
  thread("7", 'S', "130 5 4");
  const auto second = waits_.look(2'500);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->from_ns, 2'000);
}

TEST_F(ADiskWait, OfSeveralTheLongestCounts) {
  thread("7", 'D', "1 0 1");
  EXPECT_FALSE(waits_.look(1'000));
  thread("8", 'D', "1 0 1");
  EXPECT_FALSE(waits_.look(2'000));
  thread("7", 'S', "1 0 1");
  thread("8", 'S', "1 0 1");
  const auto found = waits_.look(3'000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->from_ns, 1'000);
}

TEST_F(ADiskWait, OfAThreadThatEndsIsOver) {
  thread("7", 'D', "1 0 1");
  EXPECT_FALSE(waits_.look(1'000));
  fs::remove_all(tasks_ + "7");
  EXPECT_TRUE(waits_.look(2'000));
}

TEST(DiskWaits, OfThisProcessCanBeRead) { EXPECT_FALSE(DiskWaits().look(1)); }

}  // namespace
}  // namespace leasehold::sim::live
