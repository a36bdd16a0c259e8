#include "bench/virtual_load.hpp"

#include <gtest/gtest.h>

namespace leasehold::bench {
namespace {

/// Of everybody who was served, how long the one who waited longest did.
double longest_wait_s(const VirtualContention& c) {
  double longest = 0;
  for (const Taken& t : c.taken) {
    longest = std::max(longest, static_cast<double>(t.granted - t.asked) * 1e-9);
  }
  return longest;
}

TEST(AdaptiveWaiting, ServesAThousandThatAskAtOnce) {
  VirtualLoad load;
  load.waiting = adaptive_waiting();
  load.clients = 1'000;
  load.times = 1;
  load.seconds = 120;
  const auto c = contend(load);
  ASSERT_EQ(c.taken.size(), 1'000u) << "everybody is served";
  const double ideal_s = 1'000 * (load.mean_hold_ms + c.write_ms) * 1e-3;
  RecordProperty("longest_wait_ms", static_cast<int>(longest_wait_s(c) * 1'000));
  RecordProperty("most_attempts_per_s", static_cast<int>(c.most_attempts_per_s));
  EXPECT_LE(longest_wait_s(c), 3 * ideal_s);
  EXPECT_LE(c.most_attempts_per_s, 12'000) << "a thousand of them are the first rush";
}

/// Four times as many waiters do not mean four times as many attempts for each hand-over.
TEST(AdaptiveWaiting, BoundsTheLoadWithoutKnowingHowManyWait) {
  const auto commands_at = [](int clients) {
    VirtualLoad load;
    load.waiting = adaptive_waiting();
    load.clients = clients;
    load.seconds = 25;
    load.measure_from = 10;
    const auto c = contend(load);
    const auto from = static_cast<std::int64_t>((1 + load.measure_from) * 1e9);
    const auto measured = measure(c.taken, clients, from, static_cast<std::int64_t>(26e9));
    return static_cast<double>(c.commands) / (measured.acquisitions_per_s * 15);
  };
  const double sixteen = commands_at(16), sixty_four = commands_at(64);
  EXPECT_LE(sixteen, 6);
  EXPECT_LE(sixty_four, 2 * sixteen);
}

/// What the first document's waiting is compared with: rate, longest waits, fairness.
TEST(AdaptiveWaiting, IsQuickerAndFairerThanUniform) {
  for (const auto holding :
       {Holding::constant, Holding::exponential, Holding::heavy_tailed, Holding::bimodal}) {
    const auto of = [holding](std::shared_ptr<const WaitingStrategy> waiting) {
      VirtualLoad load;
      load.waiting = std::move(waiting);
      load.holding = holding;
      load.seconds = 25;
      const auto c = contend(load);
      return measure(c.taken, 16, static_cast<std::int64_t>(6e9), static_cast<std::int64_t>(26e9));
    };
    const auto uniform = of(uniform_waiting()), adaptive = of(adaptive_waiting());
    EXPECT_GE(adaptive.acquisitions_per_s, 1.2 * uniform.acquisitions_per_s);
    EXPECT_LE(adaptive.wait_p99_ms, uniform.wait_p99_ms / 2);
    EXPECT_GE(adaptive.jain, uniform.jain);
  }
}

}  // namespace
}  // namespace leasehold::bench
