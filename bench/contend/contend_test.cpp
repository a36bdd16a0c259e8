#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <sstream>

#include "bench/contend/run.hpp"
#include "cli/command_line.hpp"

namespace leasehold::bench {
namespace {

constexpr int kDraws = 200'000;
constexpr double kMs = 1e6;

std::vector<double> draws_ms(const std::string& holding) {
  Random random(7);
  const auto h = Holding::parse(holding);
  std::vector<double> values;
  for (int i = 0; i < kDraws; ++i) {
    values.push_back(static_cast<double>(h.draw_ns(random)) / kMs);
  }
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double share_above(const std::vector<double>& values, double limit) {
  const auto above = std::ranges::count_if(values, [=](double v) { return v > limit; });
  return static_cast<double>(above) / static_cast<double>(values.size());
}

/// The bounds of 200,000 draws, and how large a share of them is longer than so many ms.
struct Shape {
  const char* text;
  double least_ms, most_ms;
  std::vector<std::pair<double, double>> longer;
};

TEST(Holding, HasItsShapeAndItsMean) {
  const auto tail = [](double times, double exponent) { return std::pow(times, -exponent); };
  const Shape shapes[] = {
      {"constant:5ms", 5, 5, {}},
      {"uniform:2ms:10ms", 2, 10, {{3, 7.0 / 8}, {6, 4.0 / 8}, {9, 1.0 / 8}}},
      {"exponential:5ms", 0, 1e9, {{2.5, std::exp(-0.5)}, {5, std::exp(-1)}, {20, std::exp(-4)}}},
      // The least is the mean * (exponent - 1) / exponent; the most a hundred times the mean.
      {"pareto:6ms:1.5", 2, 600, {{4, tail(2, 1.5)}, {16, tail(8, 1.5)}, {64, tail(32, 1.5)}}},
      {"pareto:5ms", 5.0 / 3, 500, {{10.0 / 3, tail(2, 1.5)}}},
      {"pareto:5ms:2.5", 3, 500, {{6, tail(2, 2.5)}}},
  };
  for (const auto& [text, least, most, longer] : shapes) {
    SCOPED_TRACE(text);
    const auto values = draws_ms(text);
    EXPECT_GE(std::ranges::min(values), least * 0.999'999);
    EXPECT_LE(std::ranges::max(values), most);
    EXPECT_NEAR(mean(values) / (Holding::parse(text).mean_ns / kMs), 1, 0.03);
    for (const auto& [ms, share] : longer) EXPECT_NEAR(share_above(values, ms), share, 0.005) << ms;
  }
}

TEST(Locks, ZipfAsksForTheKthInProportionToOneOverK) {
  const auto locks = Locks::parse("zipf:50:1.2");
  Random random(3);
  std::vector<int> counts(50);
  for (int i = 0; i < kDraws; ++i) ++counts.at(static_cast<std::size_t>(locks.draw(random)));
  double sum = 0;
  for (int k = 1; k <= 50; ++k) sum += std::pow(k, -1.2);
  for (int k = 1; k <= 50; ++k) {
    const double expected = std::pow(k, -1.2) / sum;
    EXPECT_NEAR(counts[static_cast<std::size_t>(k - 1)] / double(kDraws), expected, 0.004) << k;
  }
  EXPECT_NEAR(locks.hottest_share(), 1 / sum, 1e-12);
  EXPECT_NEAR(Locks::parse("many:20").hottest_share(), 0.05, 1e-12) << "each equally often";
  EXPECT_EQ(Locks::parse("one").up_to.size(), 1u);
}

TEST(OpenLoop, ItsTimesDoNotDependOnWhenAnybodyIsServed) {
  Load load;
  load.arrivals = "open:80";
  load.locks = "zipf:5";
  load.hold = "exponential:5ms";
  Requests quick(load, 0, 16, 100), slow(load, 0, 16, 100);
  std::int64_t now = 0;
  for (int i = 0; i < 500; ++i) {
    const auto one = quick.next(i % 16, now), other = slow.next((i * 7) % 16, now * 3);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(one->at_ns, other->at_ns);
    EXPECT_EQ(one->lock, other->lock);
    EXPECT_EQ(one->hold_ns, other->hold_ns);
    now += 10'000'000;
  }
}

TEST(OpenLoop, AsksAsOftenAsItShouldAndAsRandomlyAsPoissonUntilTheTimeIsOver) {
  Load load;
  load.arrivals = "open:80";
  load.measured_ms = 1'000'000;
  Requests requests(load, 0, 1, 200);
  std::vector<double> gaps;
  std::int64_t last = -load.warm_up_ms * 1'000'000;
  while (const auto next = requests.next(0, 0)) {
    gaps.push_back(static_cast<double>(next->at_ns - last) * 1e-9);
    last = next->at_ns;
    EXPECT_LT(last, load.end_ns());
  }
  EXPECT_NEAR(mean(gaps), 1 / 200.0, 1e-4);
  for (const double times : {0.5, 1.0, 3.0}) {
    EXPECT_NEAR(share_above(gaps, times / 200), std::exp(-times), 0.01);
  }
}

TEST(ClosedLoop, PausesFromItsReleaseOnAndEndsWithTheMeasuredTime) {
  Load load;
  Requests requests(load, 0, 2, 0);
  for (int i = 0; i < 1'000; ++i) {
    const auto next = requests.next(1, 5'000);
    ASSERT_TRUE(next);
    EXPECT_GE(next->at_ns, 5'000);
    EXPECT_LE(next->at_ns, 5'000 + 100'000'000);
  }
  EXPECT_FALSE(requests.next(0, load.end_ns()));
}

TEST(ClosedLoop, ACallersRequestsDoNotDependOnTheOthers) {
  Load load;
  load.hold = "exponential:5ms";
  Requests alone(load, 3, 1, 0), among(load, 0, 8, 0);
  for (int i = 0; i < 100; ++i) {
    (void)among.next(2, 0);
    EXPECT_EQ(alone.next(0, 0)->hold_ns, among.next(3, 0)->hold_ns);
  }
}

TEST(Reads, AreSoManyOfTheCallsAndNoneOfTheOneBeside) {
  Load load;
  load.clients = 2;
  load.beside = "queue";
  load.reads = 90;
  Requests requests(load, 0, 3, 0);
  std::array<int, 3> reads{};
  for (int i = 0; i < 30'000; ++i) {
    reads.at(static_cast<std::size_t>(i % 3)) += requests.next(i % 3, 0)->reads;
  }
  EXPECT_NEAR(reads[0] + reads[1], 18'000, 300);
  EXPECT_EQ(reads[2], 0);
}

TEST(Once, EveryCallerAsksAtTheBeginningAndNeverAgain) {
  Load load;
  load.arrivals = "once";
  Requests requests(load, 0, 2, 0);
  for (int caller : {0, 1}) {
    EXPECT_EQ(requests.next(caller, 0)->at_ns, 0);
    EXPECT_FALSE(requests.next(caller, 0));
  }
}

TEST(Ideal, IsThatOfTheHottestLock) {
  Load load;
  load.hold = "constant:6ms";
  EXPECT_DOUBLE_EQ(ideal_per_s(load, 4), 100);
  load.locks = "many:10";
  EXPECT_NEAR(ideal_per_s(load, 4), 1'000, 1e-6);
}

TEST(Options, AWrongOneIsNamedWithItsRule) {
  const auto expect_refused = [](const std::string& option, const auto& parse,
                                 std::initializer_list<const char*> texts) {
    for (const char* text : texts) {
      try {
        (void)parse(text);
        ADD_FAILURE() << text;
      } catch (const cli::UsageError& error) {
        const std::string said = error.what();
        EXPECT_TRUE(said.starts_with("--" + option + " is '")) << text << ": " << said;
        EXPECT_NE(said.find("it must be"), std::string::npos);
      }
    }
  };
  expect_refused("hold", Holding::parse,
                 {"", "constant", "uniform:9ms:1ms", "pareto:5ms:1", "pareto:5ms:x", "gamma:5ms",
                  "constant:5ms:7ms", "constant:", "constant:-5ms"});
  expect_refused("arrivals", Arrivals::parse,
                 {"", "open", "open:0", "open:x", "open:2000", "closed:1s:2s", "twice"});
  expect_refused("locks", Locks::parse,
                 {"", "two", "one:2", "many", "many:0", "many:2.5", "zipf:10:-1", "zipf:10:1:1",
                  "many:10:1", "many:1000000"});
  expect_refused("strategy", strategy_named, {"quickest"});
}

TEST(SamplesCsv, HasARowForEachRequestAndSaysWhoWaitedAtTheEnd) {
  RunResult run{3, "queue", 2, 7};
  run.samples = {{0, 4, -5, 10, 20}, {1, 0, 90, 100, 105, true}, {2, 0, 95, kNever, kNever}};
  std::ostringstream out;
  write_samples(out, run, 100);
  EXPECT_EQ(out.str(),
            "3,queue,2,0,4,-5,10,20,0,0\n"
            "3,queue,2,1,0,90,100,105,1,1\n"
            "3,queue,2,2,0,95,,,1,0\n");
}

TEST(RunsCsv, LeavesOutWhatWasNotMeasured) {
  RunResult run{1, "queue", 2, 9};
  run.wire = {5, 6, {{0, 2}, {1, 3}}};
  run.write_ms = 1.5;
  std::ostringstream out;
  write_run(out, run);
  EXPECT_EQ(out.str(), "1,queue,2,9,5,6,5,3,1.5,,,0\n");
}

TEST(WireCounts, TellWritesFromReadsWithinTheMeasuredTime) {
  WireCounts wire;
  for (const char* write : {"findAndModify", "update", "delete"}) wire.count(write, 0, 100);
  for (const char* read : {"aggregate", "getMore", "find", "killCursors"})
    wire.count(read, 99, 100);
  wire.count("findAndModify", -1, 100);
  wire.count("findAndModify", 100, 100);
  EXPECT_EQ(wire.writes, 3);
  EXPECT_EQ(wire.reads, 4);
  EXPECT_EQ(wire.attempts, (std::map<std::int64_t, std::int64_t>{{0, 1}}));
}

}  // namespace
}  // namespace leasehold::bench
