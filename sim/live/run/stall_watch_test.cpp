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

TEST(Standstills, ALongOneCountsByItselfAndShortOnesOnceTheyAreMoreThanAFifthOfASecond) {
  EXPECT_EQ(counted_ms(101, 20'000), 101);
  EXPECT_EQ(counted_ms(100, 20'000), 0);
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

/// What a look finds of the threads of a process, or that they waited from `from_ns` on.
struct Look {
  std::int64_t at_ns;
  /// Each thread's number, state and schedstat, as "7 S 100 5 3".
  std::vector<std::string> threads;
  std::int64_t from_ns = 0;
};

void expect_waits(bool disks, const std::vector<Look>& looks) {
  const auto tasks = testing::TempDir() + "thread-waits-" + std::to_string(getpid()) + "/";
  ThreadWaits waits(tasks);
  for (const auto& [at_ns, threads, from_ns] : looks) {
    fs::remove_all(tasks);
    for (const auto& thread : threads) {
      const auto task = tasks + thread.substr(0, 1);
      fs::create_directories(task);
      std::ofstream(task + "/stat") << thread[0] << " (a (worker)) " << thread[2] << " 1 2 3\n";
      std::ofstream(task + "/schedstat") << thread.substr(4) << '\n';
    }
    const auto found = waits.look(at_ns, disks);
    ASSERT_EQ(found.has_value(), from_ns != 0) << at_ns;
    if (!found) continue;
    EXPECT_EQ(found->from_ns, from_ns);
    EXPECT_EQ(found->to_ns, at_ns);
  }
  fs::remove_all(tasks);
}

TEST(AThreadsWait, ForADiskIsSaidWhenItHasEnded) {
  expect_waits(true, {{1'000, {"7 S 100 5 3"}},
                      {2'000, {"7 D 120 5 4"}},
                      {3'000, {"7 D 120 5 4"}},
                      {4'000, {"7 R 120 5 4"}, 2'000},
                      {5'000, {"7 R 120 5 4"}}});
}

TEST(AThreadsWait, IsAnotherOneIfTheThreadRanInBetween) {
  expect_waits(true, {{1'000, {"7 D 100 5 3"}},
                      {2'000, {"7 D 130 5 4"}, 1'000},
                      {2'500, {"7 S 130 5 4"}, 2'000}});
}

TEST(AThreadsWait, TheLongestOfSeveralCounts) {
  expect_waits(true, {{1'000, {"7 D 1 0 1"}},
                      {2'000, {"7 D 1 0 1", "8 D 1 0 1"}},
                      {3'000, {"7 S 1 0 1", "8 S 1 0 1"}, 1'000}});
}

TEST(AThreadsWait, EndsWithItsThread) {
  expect_waits(true, {{1'000, {"7 D 1 0 1"}}, {2'000, {}, 1'000}});
}

/// What it waited for before the first look is long over.
TEST(AThreadsWait, ForAProcessorIsSaidWhenItHasEnded) {
  expect_waits(false, {{1'000, {"7 S 100 5000 3"}},
                       {2'000, {"7 R 100 5000 3"}},
                       {3'000, {"7 R 120 5800 4"}, 2'200},
                       {4'000, {"7 R 120 5800 4"}}});
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
