#include "bench/contention_stats.hpp"

#include <gtest/gtest.h>

namespace leasehold::bench {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(Contention, IsMeasuredFromWhatWasTaken) {
  // Two callers in turns: 4 ms held, 1 ms until the next has it, who asked when it released last.
  std::vector<Taken> taken;
  for (std::int64_t i = 0; i < 400; ++i) {
    const auto granted = i * 5 * kMs;
    taken.push_back(
        {i % 2, std::max<std::int64_t>(granted - 6 * kMs, 0), granted, granted + 4 * kMs});
  }
  const auto c = measure(taken, 2, 0, 2'000 * kMs);
  EXPECT_DOUBLE_EQ(c.acquisitions_per_s, 200);
  EXPECT_DOUBLE_EQ(c.mean_hold_ms, 4);
  EXPECT_DOUBLE_EQ(c.wait_p50_ms, 6);
  EXPECT_DOUBLE_EQ(c.hand_over_p99_ms, 1);
  EXPECT_DOUBLE_EQ(c.jain, 1);
}

TEST(Contention, FairnessCountsThoseWhoGotNothing) {
  std::vector<Taken> taken{{0, 0, 1 * kMs, 2 * kMs}};
  EXPECT_DOUBLE_EQ(measure(taken, 4, 0, 2'000 * kMs).jain, 0.25);
}

TEST(Contention, WhatWasGrantedBeforeOrAfterDoesNotCount) {
  std::vector<Taken> taken{{0, 0, 1, 2}, {0, 5, 10, 11}, {0, 15, 20, 21}};
  EXPECT_DOUBLE_EQ(measure(taken, 1, 5, 15).wait_max_ms, 5e-6);
}

TEST(Contention, NobodyWaitedForALockThatWasFree) {
  std::vector<Taken> taken{{0, 0, 0, kMs}, {1, 3 * kMs, 4 * kMs, 5 * kMs}};
  EXPECT_DOUBLE_EQ(measure(taken, 2, 0, 10 * kMs).hand_over_p50_ms, 0);
}

}  // namespace
}  // namespace leasehold::bench
