#include <gtest/gtest.h>

#include <fstream>
#include <leasehold/metrics.hpp>
#include <leasehold/opentelemetry.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

/// What others show: spans, and the board for the metrics.
namespace leasehold {
namespace {

using Kind = LockEvent::Kind;
using std::chrono::milliseconds;

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
  struct SystemTime {
    SystemTime() = default;
    explicit SystemTime(std::chrono::system_clock::time_point at_) : at(at_) {}
    std::chrono::system_clock::time_point at;
  } start_system_time;
  struct SteadyTime {
    SteadyTime() = default;
    explicit SteadyTime(std::chrono::steady_clock::time_point at_) : at(at_) {}
    std::chrono::steady_clock::time_point at;
  } start_steady_time;
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
}  // namespace leasehold
