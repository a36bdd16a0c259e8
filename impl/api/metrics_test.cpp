#include <gtest/gtest.h>

#include <clocale>
#include <fstream>
#include <leasehold/metrics.hpp>
#include <leasehold/opentelemetry.hpp>
#include <locale>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <thread>
#include <vector>

/// What others show: metrics, the board for them, and spans.
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

std::set<std::string> found(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> all;
  for (std::sregex_iterator one(text.begin(), text.end(), regex), end; one != end; ++one) {
    all.insert((*one)[1]);
  }
  return all;
}

/// Each kind of event once.
std::string all_metrics() {
  Metrics metrics;
  for (int kind = 0; kind <= static_cast<int>(Kind::cleaned_up); ++kind) {
    metrics.count({static_cast<Kind>(kind), "n", FencingToken(kind), milliseconds(1), "refused"});
  }
  return metrics.prometheus();
}

/// All that the board asks Prometheus for.
std::string queries_of_the_board() {
  std::ifstream in(LEASEHOLD_GRAFANA);
  const auto board = nlohmann::json::parse(in);
  std::string all;
  for (const auto& variable : board.at("templating").at("list")) {
    if (variable.at("query").is_object()) all += variable["query"].at("query").get<std::string>();
  }
  for (const auto& panel : board.at("panels")) {
    for (const auto& target : panel.at("targets")) {
      all += '\n' + target.at("expr").get<std::string>();
    }
  }
  return all;
}

TEST(GrafanaBoard, ShowsEveryMetricAndNoOther) {
  const std::string name = "(leasehold_[a-z_]+)";
  auto shown = found(queries_of_the_board(), name);
  for (const auto& of_histogram : found(all_metrics(), "# TYPE " + name + " histogram")) {
    EXPECT_EQ(shown.erase(of_histogram + "_bucket"), 1u) << of_histogram;
  }
  std::set<std::string> plain = found(all_metrics(), "# TYPE " + name + " (?:counter|gauge)");
  EXPECT_EQ(shown, plain);
  EXPECT_EQ(plain.size(), 3u);
}

TEST(GrafanaBoard, AsksForLabelsAndEventsThatThereAre) {
  const auto board = queries_of_the_board(), text = all_metrics();
  auto labels = found(text, "[{,]([a-z]+)=");
  for (const auto& asked : found(board, "[{,]([a-z]+)=")) EXPECT_TRUE(labels.contains(asked));
  for (const auto& list : found(board, "by \\(([a-z, ]+)\\)")) {
    for (const auto& asked : found(list, "([a-z]+)")) EXPECT_TRUE(labels.contains(asked)) << asked;
  }
  const auto events = found(text, "event=\"([a-z_]+)\"");
  const auto asked = found(board, "event=\"([a-z_]+)\"");
  EXPECT_FALSE(asked.empty());
  for (const auto& event : asked) EXPECT_TRUE(events.contains(event)) << event;
}

/// The parts of opentelemetry-cpp that the adapter uses, with its types of arguments.
struct FakeOptions {
  template <typename Clock>
  struct Time {
    Time() = default;
    explicit Time(typename Clock::time_point at_) : at(at_) {}
    typename Clock::time_point at;
  };
  Time<std::chrono::system_clock> start_system_time;
  Time<std::chrono::steady_clock> start_steady_time;
};
struct FakeSpan {
  void SetAttribute(std::string_view key, const char* value) {
    attributes.emplace(key, value);
  }
  void End() { ended = true; }
  std::string name;
  FakeOptions options;
  std::map<std::string, std::string> attributes;
  bool ended = false;
};
struct FakeTracer {
  std::shared_ptr<FakeSpan> StartSpan(std::string_view name, const FakeOptions& options) {
    spans.push_back(std::make_shared<FakeSpan>(FakeSpan{std::string(name), options, {}}));
    return spans.back();
  }
  std::vector<std::shared_ptr<FakeSpan>> spans;
};
using Attributes = std::map<std::string, std::string>;

TEST(Spans, AreOfWaitsAndHoldingsFromTheirBeginnings) {
  const auto tracer = std::make_shared<FakeTracer>();
  const std::function<void(const LockEvent&)> on_event = spans<FakeOptions>(tracer);
  on_event({Kind::attempt, "n"});
  on_event({Kind::acquired, "n", FencingToken(5), milliseconds(250), {}});
  on_event({Kind::extended, "n", FencingToken(5), milliseconds(1), {}});
  on_event({Kind::released, "n", FencingToken(5), milliseconds(1'500), "released"});
  ASSERT_EQ(tracer->spans.size(), 2u);
  const auto& wait = *tracer->spans[0];
  const auto& hold = *tracer->spans[1];
  EXPECT_EQ(wait.name, "leasehold.acquire");
  EXPECT_EQ(hold.name, "leasehold.hold");
  EXPECT_EQ(wait.attributes, (Attributes{{"leasehold.lock", "n"},
                                         {"leasehold.outcome", "acquired"},
                                         {"leasehold.fencing_token", "5"}}));
  EXPECT_TRUE(wait.ended && hold.ended);
  EXPECT_GE(std::chrono::steady_clock::now() - wait.options.start_steady_time.at,
            milliseconds(250));
  EXPECT_GE(std::chrono::system_clock::now() - hold.options.start_system_time.at,
            milliseconds(1'500));
}

TEST(Spans, SayWhatWentWrongAndALostHoldingHasOne) {
  const auto tracer = std::make_shared<FakeTracer>();
  const auto on_event = spans<FakeOptions>(tracer);
  on_event({Kind::gave_up, "n", {}, milliseconds(20), "timed_out"});
  on_event({Kind::handed_over, "n", FencingToken(6), milliseconds(1), {}});
  on_event({Kind::lost, "n", FencingToken(6), milliseconds(9), "deadline"});
  on_event({Kind::released, "n", FencingToken(6), milliseconds(12), "not_owner"});
  on_event({Kind::released, "n", FencingToken(7), milliseconds(12), "unknown"});
  on_event({Kind::passed_on, "n", FencingToken(8), milliseconds(1), {}});
  ASSERT_EQ(tracer->spans.size(), 5u);
  EXPECT_EQ(tracer->spans[1]->attributes["leasehold.outcome"], "handed_over");
  EXPECT_EQ(tracer->spans[4]->attributes["leasehold.outcome"], "passed_on");
  EXPECT_EQ(tracer->spans[0]->attributes, (Attributes{{"leasehold.lock", "n"},
                                                      {"leasehold.outcome", "gave_up"},
                                                      {"error.type", "timed_out"}}));
  EXPECT_EQ(tracer->spans[2]->attributes["error.type"], "deadline");
  EXPECT_EQ(tracer->spans[3]->attributes["error.type"], "unknown");
}

}  // namespace
}  // namespace leasehold::metrics_test
