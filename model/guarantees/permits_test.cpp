#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

HistoryBuilder started() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b");
  return s;
}

/// `a` holds slot 0 from 20 to 8,000.
HistoryBuilder slot_taken() {
  auto s = started();
  s.named("s#0").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  for (int at = 300; at < 8'000; at += 300) s.extend(at, at + 5, "a", 1, 100 + at);
  return s;
}

TEST(CheckPermits, ACallThatNeverEndsIsViolated) {
  auto s = slot_taken();
  s.asks_permit(1'000, "b", 1, 1, 1'500).ask(8'500, "b", 1, 0).ended(8'600, "b", 1, "refused");
  EXPECT_EQ(judged(s, Check::G7).verdict, Verdict::violated);
}

/// A call for a permit ends its acquire calls as it likes, those after the faults too.
TEST(CheckPermits, ItsAcquireCallsNeedNotBeServed) {
  auto s = slot_taken();
  s.asks_permit(1'000, "b", 1, 1, 5'000, "s", true).ask(1'000, "b", 1, 0, true);
  s.refused(1'000, 1'010, "b", 1).ended(1'010, "b", 1, "refused");
  s.gets_permit(3'000, "b", 1, "s#0");
  EXPECT_EQ(judged(s, Check::G7).verdict, Verdict::holds);
}

TEST(CheckPermits, AnAnswerWithoutACallIsNoHistory) {
  auto s = slot_taken();
  s.gets_permit(1'000, "b", 1, "s#0");
  EXPECT_EQ(judged(s.end(9'000), Check::form).verdict, Verdict::unknown);
  auto twice = slot_taken();
  twice.asks_permit(1'000, "b", 1, 1, 0).asks_permit(1'100, "b", 1, 1, 0);
  EXPECT_EQ(judged(twice.end(9'000), Check::form).verdict, Verdict::unknown);
  auto of_none = slot_taken();  // found by a fuzzer
  of_none.asks_permit(1'000, "", 1, 1, 0);
  EXPECT_EQ(judged(of_none.end(9'000), Check::form).verdict, Verdict::unknown);
}

/// A call looks at first, once more after a try in vain, and twice a second.
TEST(CheckPermits, ItsLooksAreCounted) {
  for (const int finds : {4, 5}) {
    auto s = slot_taken();
    s.asks_permit(1'000, "b", 1, 1, 2'000).gets_no_permit(2'000, "b", 1, "timed_out");
    s.of(Kind::wire, 8'900, "b").with([finds](Event& e) { e.verb = "find", e.count = finds; });
    EXPECT_EQ(judged(s.end(9'000), Check::G9).violations, finds == 5 ? 1 : 0) << finds;
  }
}

}  // namespace
}  // namespace leasehold::model
