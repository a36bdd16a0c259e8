#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "sim/live/run/stall_watch.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

/// How much of ten seconds counts, if the machine stands still for so long in each period.
std::int64_t counted_ms(std::int64_t lost_ms, std::int64_t period_ms) {
  Standstills watch;
  std::int64_t sum_ms = 0;
  for (std::int64_t at = 0; at < 10'000; at += period_ms) {
    for (const auto& span : watch.add({at * kNsPerMs, (at + lost_ms) * kNsPerMs})) {
      sum_ms += (span.to_ns - span.from_ns) / kNsPerMs;
    }
  }
  return sum_ms;
}

TEST(Standstills, ALongOneCountsByItself) {
  EXPECT_EQ(counted_ms(101, 20'000), 101);
  EXPECT_EQ(counted_ms(100, 20'000), 0);
}

TEST(Standstills, ShortOnesCountOnceTheyAreMoreThanAFifthOfASecond) {
  EXPECT_EQ(counted_ms(75, 100), 7'500) << "a quarter of a processor";
  EXPECT_EQ(counted_ms(30, 100), 3'000);
  EXPECT_EQ(counted_ms(15, 100), 0) << "busy, as every machine is at times";
  EXPECT_EQ(counted_ms(9, 10), 0) << "a thread that wakes late for others";
}

TEST(Standstills, ThoseThatWereTooFewByThemselvesCountWithTheLastOne) {
  Standstills watch;
  for (std::int64_t at = 0; at < 400; at += 100) {
    EXPECT_TRUE(watch.add({at * kNsPerMs, (at + 50) * kNsPerMs}).empty()) << at;
  }
  EXPECT_EQ(watch.add({400 * kNsPerMs, 420 * kNsPerMs}).size(), 5u);
  EXPECT_EQ(watch.add({500 * kNsPerMs, 520 * kNsPerMs}).size(), 1u) << "each counts once";
  EXPECT_TRUE(watch.add({5'000 * kNsPerMs, 5'050 * kNsPerMs}).empty()) << "seconds later";
}

namespace fs = std::filesystem;

class AThreadsWait : public testing::Test {
 protected:
  AThreadsWait() { fs::remove_all(tasks_); }
  ~AThreadsWait() override { fs::remove_all(tasks_); }

  void thread(const std::string& id, char state, const std::string& ran) {
    fs::create_directories(tasks_ + id);
    std::ofstream(tasks_ + id + "/stat") << id << " (a (worker)) " << state << " 1 2 3\n";
    std::ofstream(tasks_ + id + "/schedstat") << ran << '\n';
  }

  /// Looks, and finds this wait.
  void expect_a_wait(std::int64_t from_ns, std::int64_t to_ns, bool disks) {
    const auto found = waits_.look(to_ns, disks);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->from_ns, from_ns);
    EXPECT_EQ(found->to_ns, to_ns);
  }

  const std::string tasks_ = testing::TempDir() + "thread-waits-" + std::to_string(getpid()) + "/";
  ThreadWaits waits_{tasks_};
};

TEST_F(AThreadsWait, ForADiskIsSaidWhenItHasEnded) {
  thread("7", 'S', "100 5 3");
  EXPECT_FALSE(waits_.look(1'000, true));
  thread("7", 'D', "120 5 4");
  EXPECT_FALSE(waits_.look(2'000, true));
  EXPECT_FALSE(waits_.look(3'000, true));
  thread("7", 'R', "120 5 4");
  expect_a_wait(2'000, 4'000, true);
  EXPECT_FALSE(waits_.look(5'000, true));
}

TEST_F(AThreadsWait, IsAnotherOneIfTheThreadRanInBetween) {
  thread("7", 'D', "100 5 3");
  EXPECT_FALSE(waits_.look(1'000, true));
  thread("7", 'D', "130 5 4");
  expect_a_wait(1'000, 2'000, true);
  thread("7", 'S', "130 5 4");
  expect_a_wait(2'000, 2'500, true);
}

TEST_F(AThreadsWait, TheLongestOfSeveralCounts) {
  thread("7", 'D', "1 0 1");
  EXPECT_FALSE(waits_.look(1'000, true));
  thread("8", 'D', "1 0 1");
  EXPECT_FALSE(waits_.look(2'000, true));
  thread("7", 'S', "1 0 1");
  thread("8", 'S', "1 0 1");
  expect_a_wait(1'000, 3'000, true);
}

TEST_F(AThreadsWait, EndsWithItsThread) {
  thread("7", 'D', "1 0 1");
  EXPECT_FALSE(waits_.look(1'000, true));
  fs::remove_all(tasks_ + "7");
  EXPECT_TRUE(waits_.look(2'000, true));
}

TEST_F(AThreadsWait, ForAProcessorIsSaidWhenItHasEnded) {
  thread("7", 'S', "100 5000 3");
  EXPECT_FALSE(waits_.look(1'000, false)) << "what it waited for before is long over";
  thread("7", 'R', "100 5000 3");
  EXPECT_FALSE(waits_.look(2'000, false));
  thread("7", 'R', "120 5800 4");
  expect_a_wait(2'200, 3'000, false);
  EXPECT_FALSE(waits_.look(4'000, false));
}

TEST(ThreadWaits, TwoThreadsOfOneProcessorWaitForEachOther) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  {
    const std::jthread other([](const std::stop_token& stop) {
      while (!stop.stop_requested()) continue;
    });
    ThreadWaits waits;
    while (!waits.look(1, true)) continue;
  }
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace leasehold::sim::live
