#include <gtest/gtest.h>

#include <leasehold/metrics.hpp>

namespace leasehold {
namespace {

using Kind = LockEvent::Kind;
using std::chrono::milliseconds;

TEST(Metrics, AreTextForPrometheus) {
  Metrics metrics;
  metrics.count({Kind::attempt, "a\"b"});
  metrics.count({Kind::attempt, "a\"b"});
  metrics.count({Kind::acquired, "a\"b", FencingToken(5), milliseconds(250), {}});
  metrics.count({Kind::released, "a\"b", FencingToken(5), milliseconds(1'500), "released"});
  EXPECT_EQ(metrics.prometheus(), R"(# TYPE leasehold_events_total counter
leasehold_events_total{lock="a\"b",event="attempt"} 2
leasehold_events_total{lock="a\"b",event="acquired"} 1
leasehold_events_total{lock="a\"b",event="released"} 1
# TYPE leasehold_wait_seconds summary
leasehold_wait_seconds_sum{lock="a\"b"} 0.25
leasehold_wait_seconds_count{lock="a\"b"} 1
# TYPE leasehold_hold_seconds summary
leasehold_hold_seconds_sum{lock="a\"b"} 1.5
leasehold_hold_seconds_count{lock="a\"b"} 1
)");
}

TEST(Metrics, AHandleThatIsLostAndThenDestroyedCountsOnce) {
  Metrics metrics;
  const FencingToken first(5), second(9);
  metrics.count({Kind::lost, "a", first, milliseconds(2'000), "deadline"});
  metrics.count({Kind::released, "a", second, milliseconds(300), "released"});
  metrics.count({Kind::released, "a", first, milliseconds(60'000), "not_owner"});
  metrics.count({Kind::released, "a", second, milliseconds(700), "released"});
  const auto text = metrics.prometheus();
  EXPECT_NE(text.find("leasehold_hold_seconds_sum{lock=\"a\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("leasehold_hold_seconds_count{lock=\"a\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("{lock=\"a\",event=\"released\"} 3\n"), std::string::npos) << text;
}

TEST(Metrics, OfHandlesWithoutATokenEachCountsOnceToo) {
  Metrics metrics;
  for (int i = 0; i < 2; ++i) metrics.count({Kind::lost, "a", {}, milliseconds(1'000), "deadline"});
  for (int i = 0; i < 3; ++i) metrics.count({Kind::released, "a", {}, milliseconds(1'000), {}});
  const auto text = metrics.prometheus();
  EXPECT_NE(text.find("leasehold_hold_seconds_count{lock=\"a\"} 3\n"), std::string::npos) << text;
}

TEST(Metrics, NamesBeyondAHundredShareALabel) {
  Metrics metrics;
  for (int i = 0; i < 1'000; ++i) metrics.count({Kind::attempt, "lock-" + std::to_string(i)});
  const auto text = metrics.prometheus();
  EXPECT_NE(text.find("{lock=\"(others)\",event=\"attempt\"} 900\n"), std::string::npos);
  EXPECT_EQ(text.find("lock-100\""), std::string::npos);
}

}  // namespace
}  // namespace leasehold
