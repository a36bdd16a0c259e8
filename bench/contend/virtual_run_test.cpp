#include <gtest/gtest.h>

#include <algorithm>

#include "bench/contend/run.hpp"

namespace leasehold::bench {
namespace {

std::vector<double> waits_ms(const RunResult& run) {
  std::vector<double> waits;
  for (const Sample& s : run.samples) {
    waits.push_back(static_cast<double>(s.granted_ns - s.asked_ns) * 1e-6);
  }
  std::sort(waits.begin(), waits.end());
  return waits;
}

std::int64_t granted_in_time(const RunResult& run, const Load& load) {
  return std::count_if(run.samples.begin(), run.samples.end(), [&](const Sample& s) {
    return s.granted_ns >= 0 && s.granted_ns < load.end_ns();
  });
}

Load twenty_seconds(const std::string& strategy) {
  Load load;
  load.strategy = strategy;
  load.warm_up_ms = 5'000;
  load.measured_ms = 20'000;
  return load;
}

TEST(VirtualRun, EverybodyIsServedAlsoWhoWaitedAtTheEndUnlessTimeIsOver) {
  Load load;
  load.clients = 64;
  const auto run = run_virtual(load);
  for (const Sample& s : run.samples) {
    EXPECT_NE(s.granted_ns, kNever);
    EXPECT_LT(s.asked_ns, load.end_ns());
  }
  EXPECT_LT(granted_in_time(run, load), std::ssize(run.samples)) << "somebody always waits";
  load.clients = 4;
  load.hold = "constant:20s";
  load.drain_ms = 5'000;
  const auto samples = run_virtual(load).samples;
  EXPECT_EQ(std::ranges::count(samples, kNever, &Sample::granted_ns), 3) << "they are there, too";
}

TEST(VirtualRun, TheOneBesideHasAStrategyOfItsOwnOrIsOfOtherSoftware) {
  for (const char* beside : {"uniform-100-3000", "distributed-lock"}) {
    Load load = twenty_seconds("adaptive");
    load.beside = beside;
    std::vector<std::int64_t> counts(17);
    for (const Sample& s : run_virtual(load).samples) {
      counts.at(static_cast<std::size_t>(s.client)) += s.granted_ns != kNever;
    }
    EXPECT_GT(counts.at(16), 1) << beside;
    EXPECT_LT(2 * counts.at(16), *std::min_element(counts.begin(), counts.end() - 1)) << beside;
  }
}

TEST(VirtualRun, ReadersShareTheLockUnlessTheStrategyIsExclusive) {
  const auto met = [](const std::string& strategy, bool may_read) {
    Load load;
    load.strategy = strategy;
    load.measured_ms = 1'000;
    load.reads = 90;
    const auto samples = run_virtual(load).samples;
    return std::ranges::count_if(samples, [&](const Sample& a) {
      return std::ranges::any_of(samples, [&](const Sample& b) {
        return &a != &b && (a.reads && b.reads) == may_read && a.granted_ns < b.released_ns &&
               b.granted_ns < a.released_ns;
      });
    });
  };
  EXPECT_GT(met("queue", true), 300);
  EXPECT_EQ(met("queue", false), 0);
  EXPECT_EQ(met("exclusive", true) + met("exclusive", false), 0);
}

/// Two writes: an attempt and a release. None asks again while it waits.
TEST(QueueWaiting, SixtyFourThatWaitAskOnceEach) {
  Load load = twenty_seconds("queue");
  load.clients = 64;
  const auto run = run_virtual(load);
  EXPECT_GE(waits_ms(run)[run.samples.size() / 2], 550) << "longer than a first renewal";
  EXPECT_LE(static_cast<double>(run.wire.writes),
            2.1 * static_cast<double>(granted_in_time(run, load)));
}

TEST(AdaptiveWaiting, ServesAThousandThatAskAtOnce) {
  Load load;
  load.strategy = "adaptive";
  load.clients = 1'000;
  load.arrivals = "once";
  load.warm_up_ms = 0;
  load.measured_ms = 120'000;
  const auto run = run_virtual(load);
  ASSERT_EQ(granted_in_time(run, load), 1'000) << "everybody is served";
  const double longest_ms = waits_ms(run).back();
  RecordProperty("longest_wait_ms", static_cast<int>(longest_ms));
  RecordProperty("most_attempts_per_s", static_cast<int>(run.wire.most_attempts_per_s()));
  EXPECT_LE(longest_ms, 3 * 1'000 * (5 + run.write_ms)) << "three times the ideal";
  EXPECT_LE(run.wire.most_attempts_per_s(), 12'000) << "a thousand of them are the first rush";
}

/// Four times as many waiters do not mean four times as many attempts for each hand-over.
TEST(AdaptiveWaiting, BoundsTheLoadWithoutKnowingHowManyWait) {
  const auto commands_at = [](int clients) {
    Load load = twenty_seconds("adaptive");
    load.warm_up_ms = 10'000;
    load.clients = clients;
    const auto run = run_virtual(load);
    return static_cast<double>(run.wire.writes + run.wire.reads) /
           static_cast<double>(granted_in_time(run, load));
  };
  const double sixteen = commands_at(16), sixty_four = commands_at(64);
  EXPECT_LE(sixteen, 6);
  EXPECT_LE(sixty_four, 2 * sixteen);
}

/// What the .NET package's waiting is compared with: rate and longest waits.
TEST(AdaptiveWaiting, IsQuickerThanUniform) {
  for (const char* hold : {"constant:5ms", "exponential:5ms", "pareto:5ms", "uniform:0ms:10ms"}) {
    auto load = twenty_seconds("uniform");
    load.hold = hold;
    const auto uniform = run_virtual(load);
    load.strategy = "adaptive";
    const auto adaptive = run_virtual(load);
    const auto p99 = [](const RunResult& run) {
      const auto waits = waits_ms(run);
      return waits[waits.size() * 99 / 100];
    };
    EXPECT_GE(10 * granted_in_time(adaptive, load), 12 * granted_in_time(uniform, load)) << hold;
    EXPECT_LE(p99(adaptive), p99(uniform) / 2) << hold;
  }
}

}  // namespace
}  // namespace leasehold::bench
