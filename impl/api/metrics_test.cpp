#include <gtest/gtest.h>

#include <clocale>
#include <leasehold/metrics.hpp>
#include <locale>
#include <thread>
#include <vector>

namespace leasehold::metrics_test {
namespace {

using Kind = LockEvent::Kind;
using std::chrono::milliseconds;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// One lock: two attempts, a wait of 250 ms, a holding of 1.5 s, a second one that goes on.
void use_once_and_hold(Metrics& metrics) {
  metrics.count({Kind::attempt, "a\"b"});
  metrics.count({Kind::attempt, "a\"b"});
  metrics.count({Kind::acquired, "a\"b", FencingToken(5), milliseconds(250), {}});
  metrics.count({Kind::released, "a\"b", FencingToken(5), milliseconds(1'500), "released"});
  metrics.count({Kind::handed_over, "a\"b", FencingToken(6), milliseconds(1), {}});
}

TEST(Metrics, AreTextForPrometheus) {
  Metrics metrics;
  use_once_and_hold(metrics);
  const auto text = metrics.prometheus();
  EXPECT_TRUE(text.starts_with(R"(# TYPE leasehold_events_total counter
leasehold_events_total{lock="a\"b",event="attempt"} 2
leasehold_events_total{lock="a\"b",event="acquired"} 1
leasehold_events_total{lock="a\"b",event="handed_over"} 1
leasehold_events_total{lock="a\"b",event="released"} 1
# TYPE leasehold_waits_total counter
leasehold_waits_total{lock="a\"b",outcome="acquired"} 2
# TYPE leasehold_wait_seconds histogram
leasehold_wait_seconds_bucket{lock="a\"b",le="0.001"} 1
leasehold_wait_seconds_bucket{lock="a\"b",le="0.005"} 1
leasehold_wait_seconds_bucket{lock="a\"b",le="0.01"} 1
leasehold_wait_seconds_bucket{lock="a\"b",le="0.05"} 1
leasehold_wait_seconds_bucket{lock="a\"b",le="0.1"} 1
leasehold_wait_seconds_bucket{lock="a\"b",le="0.5"} 2
)")) << text;
  EXPECT_TRUE(contains(text, R"(leasehold_wait_seconds_bucket{lock="a\"b",le="+Inf"} 2
leasehold_wait_seconds_sum{lock="a\"b"} 0.251
leasehold_wait_seconds_count{lock="a\"b"} 2
)")) << text;
  EXPECT_TRUE(contains(text, R"(leasehold_hold_seconds_bucket{lock="a\"b",le="1.0"} 0
leasehold_hold_seconds_bucket{lock="a\"b",le="5.0"} 1
leasehold_hold_seconds_bucket{lock="a\"b",le="10.0"} 1
leasehold_hold_seconds_bucket{lock="a\"b",le="30.0"} 1
leasehold_hold_seconds_bucket{lock="a\"b",le="60.0"} 1
leasehold_hold_seconds_bucket{lock="a\"b",le="300.0"} 1
leasehold_hold_seconds_bucket{lock="a\"b",le="1800.0"} 1
leasehold_hold_seconds_bucket{lock="a\"b",le="+Inf"} 1
)")) << text;
  EXPECT_TRUE(text.ends_with(R"(# TYPE leasehold_held_locks gauge
leasehold_held_locks{lock="a\"b"} 1
)")) << text;
}

/// An application's locale may write numbers with a comma.
TEST(Metrics, AreTheSameInEveryLocale) {
  class Comma final : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  Metrics metrics;
  use_once_and_hold(metrics);
  const auto text = metrics.prometheus();
  const auto before = std::locale::global(std::locale(std::locale(), new Comma));
  const std::string before_in_c = std::setlocale(LC_ALL, nullptr);
  const bool with_comma = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  const auto in_locale = metrics.prometheus();
  std::setlocale(LC_ALL, before_in_c.c_str());
  std::locale::global(before);
  EXPECT_EQ(in_locale, text) << (with_comma ? "" : "this machine has no locale with a comma");
}

TEST(Metrics, OpenMetricsNamesFamiliesAndUnitsAndEnds) {
  Metrics metrics;
  use_once_and_hold(metrics);
  const auto text = metrics.openmetrics();
  EXPECT_TRUE(text.starts_with("# TYPE leasehold_events counter\nleasehold_events_total{")) << text;
  EXPECT_TRUE(contains(text,
                       "# TYPE leasehold_hold_seconds histogram\n"
                       "# UNIT leasehold_hold_seconds seconds\n"))
      << text;
  EXPECT_TRUE(text.ends_with("\n# EOF\n")) << text;
}

/// A handle that is lost and then released, or destroyed, is one holding.
TEST(Metrics, CountEachWaitByItsReasonAndEachHoldingOnce) {
  const FencingToken first(5), second(9), none;
  const auto event = [](Kind kind, FencingToken token, int ms, const char* detail) {
    return LockEvent{kind, "a", token, milliseconds(ms), detail};
  };
  const struct {
    std::vector<LockEvent> events;
    std::vector<const char*> lines;
  } cases[]{
      {{event(Kind::gave_up, none, 2'000, "timed_out"),
        event(Kind::gave_up, none, 3'000, "timed_out"),
        event(Kind::gave_up, none, 3, "unavailable")},
       {"leasehold_waits_total{lock=\"a\",outcome=\"timed_out\"} 2\n",
        "leasehold_waits_total{lock=\"a\",outcome=\"unavailable\"} 1\n",
        "leasehold_given_up_wait_seconds_sum{lock=\"a\"} 5.003\n",
        "leasehold_given_up_wait_seconds_count{lock=\"a\"} 3\n",
        "leasehold_wait_seconds_count{lock=\"a\"} 0\n"}},
      {{event(Kind::acquired, first, 1, ""), event(Kind::lost, first, 1'000, "deadline"),
        event(Kind::released, first, 9'000, "not_owner")},
       {"leasehold_held_locks{lock=\"a\"} 0\n"}},
      {{event(Kind::lost, first, 2'000, "deadline"), event(Kind::released, second, 300, "released"),
        event(Kind::released, first, 60'000, "not_owner"),
        event(Kind::released, second, 700, "released")},
       {"leasehold_hold_seconds_sum{lock=\"a\"} 3\n",
        "leasehold_hold_seconds_count{lock=\"a\"} 3\n", "{lock=\"a\",event=\"released\"} 3\n"}},
      {{event(Kind::lost, none, 1'000, "deadline"), event(Kind::lost, none, 1'000, "deadline"),
        event(Kind::released, none, 1'000, ""), event(Kind::released, none, 1'000, ""),
        event(Kind::released, none, 1'000, "")},
       {"leasehold_hold_seconds_count{lock=\"a\"} 3\n"}},
  };
  for (const auto& [events, lines] : cases) {
    Metrics metrics;
    for (const auto& one : events) metrics.count(one);
    for (const auto* line : lines) EXPECT_TRUE(contains(metrics.prometheus(), line)) << line;
  }
}

TEST(Metrics, EventsOfSeveralThreadsAreAllCounted) {
  Metrics metrics;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&metrics] {
        for (int j = 0; j < 1'000; ++j) {
          metrics.count({Kind::attempt, "a"});
          if (j % 100 == 0) (void)metrics.openmetrics();
        }
      });
    }
  }
  EXPECT_TRUE(contains(metrics.prometheus(), "{lock=\"a\",event=\"attempt\"} 4000\n"));
}

TEST(Metrics, NamesBeyondAHundredShareALabel) {
  Metrics metrics;
  for (int i = 0; i < 1'000; ++i) metrics.count({Kind::attempt, "lock-" + std::to_string(i)});
  const auto text = metrics.prometheus();
  EXPECT_NE(text.find("{lock=\"(others)\",event=\"attempt\"} 900\n"), std::string::npos);
  EXPECT_EQ(text.find("lock-100\""), std::string::npos);
}

}  // namespace
}  // namespace leasehold::metrics_test
