#include "bench/contend/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/contend/strategies.hpp"
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
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double share_above(const std::vector<double>& values, double limit) {
  return static_cast<double>(
             std::count_if(values.begin(), values.end(), [=](double v) { return v > limit; })) /
         static_cast<double>(values.size());
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const cli::UsageError& error) {
    return error.what();
  }
  return "";
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
    EXPECT_GE(*std::min_element(values.begin(), values.end()), least * 0.999'999);
    EXPECT_LE(*std::max_element(values.begin(), values.end()), most);
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
      const auto error = error_of([&] { (void)parse(text); });
      EXPECT_TRUE(error.starts_with("--" + option + " is '")) << text << ": " << error;
      EXPECT_NE(error.find("it must be"), std::string::npos);
    }
  };
  expect_refused("hold", Holding::parse,
                 {"", "constant", "constant:", "constant:-5ms", "uniform:9ms:1ms", "pareto:5ms:1",
                  "pareto:5ms:x", "gamma:5ms", "constant:5ms:7ms"});
  expect_refused("arrivals", Arrivals::parse,
                 {"", "open", "open:0", "open:x", "open:2000", "closed:1s:2s", "twice"});
  expect_refused("locks", Locks::parse,
                 {"", "two", "one:2", "many", "many:0", "many:2.5", "zipf:10:-1", "zipf:10:1:1",
                  "many:10:1", "many:1000000"});
  expect_refused("strategy", strategy_named, {"quickest"});
  EXPECT_NE(error_of([] { (void)strategy_named("./none.so"); }).find("cannot be loaded"),
            std::string::npos);
}

TEST(Strategies, EachNameIsKnownAndAPathIsCalledByItsLastPart) {
  for (const auto& name : strategy_names()) EXPECT_NE(strategy_named(name), nullptr) << name;
  EXPECT_EQ(label_of("./folder/mine.so"), "mine");
}

}  // namespace
}  // namespace leasehold::bench
