#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

const std::vector<std::string> kBoth{"x", "y"};

/// `a` takes x at 20, and has it until 8,000.
HistoryBuilder x_taken() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b");
  s.asks_all(10, "a", 1, kBoth, 5'000);
  s.named("x").ask(10, "a", 1, 5'000).win(10, 20, "a", 1, 100);
  return s;
}

void extend_x(HistoryBuilder& s, int until) {
  for (int at = 300; at < until; at += 300) s.extend(at, at + 5, "a", 1, 100 + at);
}

/// It gets y at 4,000, and both from then on.
HistoryBuilder both_taken(int answered) {
  auto s = x_taken();
  extend_x(s, 6'000);
  s.named("y").ask(3'990, "a", 2, 5'000).win(3'990, 4'000, "a", 2, 4'050);
  s.gets_all(answered, "a", 1, kBoth, {100, 4'050}).yes(answered + 1, answered + 10, "a", 2);
  s.release(answered + 20, answered + 30, "a", 2, 4'090 + answered);
  return std::move(s.named("x").yes(answered + 1, answered + 10, "a", 1));
}

TEST(CheckAllCalls, AUserIsDueWhenTheCallIsOver) {
  const auto f = judged(both_taken(4'010), Check::G7);
  EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
  EXPECT_EQ(f.counts.at("all_calls"), 1);
  auto s = x_taken();
  extend_x(s, 8'500);
  s.gets_not_all(5'000, "a", 1, kBoth, "timed_out");
  s.named("y").ask(5'100, "a", 2).win(5'100, 5'110, "a", 2, 5'211).yes(5'111, 5'120, "a", 2);
  s.release(5'130, 5'140, "a", 2, 5'236);
  EXPECT_NE(judged(s, Check::G7).why.find("no user got its handle"), std::string::npos)
      << "what it had was not given back";
}

TEST(CheckAllCalls, OnceFaultsAreOverACallThatGetsNotAllIsViolated) {
  for (const auto* outcome : {"timed_out", "unavailable"}) {
    HistoryBuilder s;
    s.start(1, "a").asks_all(10, "a", 1, kBoth, 5'000, true);
    s.gets_not_all(5'000, "a", 1, kBoth, outcome);
    EXPECT_EQ(judged(s, Check::G7).verdict, Verdict::violated) << outcome;
    auto history = s.end(9'000);
    for (auto& e : history) e.max_holding_ms = e.kind == Kind::all ? 700 : 0;
    const bool may = outcome == std::string("unavailable");  // a longest holding ended meanwhile
    EXPECT_EQ(judged(history, Check::G7).violations == 0, may) << outcome;
  }
}

TEST(CheckAllCalls, AnAnswerWithoutACallIsNoHistory) {
  HistoryBuilder s;
  s.start(1, "a").gets_all(10, "a", 1, kBoth, {1, 2});
  EXPECT_EQ(judged(s.end(9'000), Check::form).verdict, Verdict::unknown);
  HistoryBuilder twice;
  twice.start(1, "a").asks_all(10, "a", 1, {"x", "x"}, 0);
  EXPECT_EQ(judged(twice.end(9'000), Check::form).verdict, Verdict::unknown);
  HistoryBuilder of_none;  // found by a fuzzer
  of_none.start(1, "a").asks_all(10, "", 1, kBoth, 0);
  EXPECT_EQ(judged(of_none.end(9'000), Check::form).verdict, Verdict::unknown);
}

}  // namespace
}  // namespace leasehold::model
