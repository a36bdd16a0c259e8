#include "sim/live/run/stall_watch.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace leasehold::sim::live
