#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// Found by a soak: the watchdog reports a stall when it is over, and a killed process never does.
TEST(CheckLiveness, AWaiterKilledBeforeItsNextSignOfLifeIsNotLate) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1, 500).refused(10, 20, "a", 1).crash(1'200, "a");
  EXPECT_NE(judged(s, Check::G7).verdict, Verdict::violated);
  HistoryBuilder alive;  // it spoke, and of something else
  alive.start(1, "a").ask(10, "a", 1, 500).refused(10, 20, "a", 1).ask(1'100, "a", 2);
  alive.crash(1'200, "a");
  EXPECT_EQ(judged(alive, Check::G7).verdict, Verdict::violated);
}

TEST(CheckLiveness, AFaultInTheMeantimeExcusesIt) {
  auto s = a_holds().crash(30, "a");
  s.fault(900, "step-up");
  s.ask(40, "b", 1).refused(40, 50, "b", 1).win(5'000, 5'010, "b", 1, 110).lose(6'000, "b", 1);
  EXPECT_TRUE(judged(s, Check::G7, 9'900).never_tested());
}

/// The bound of b's wait is 1,000 ms, a little for drift, and 1,050 ms for two attempts.
HistoryBuilder waits_for_the_dead() {
  auto s = a_holds();
  s.crash(30, "a").ask(40, "b", 1, 1'500).refused(40, 50, "b", 1);
  s.ended(1'500, "b", 1, "timed_out");
  return s.ask(45, "c", 1).refused(45, 55, "c", 1);
}

TEST(CheckLiveness, EveryWaiterCounts) {  // b had not waited for long enough, c did
  auto s = waits_for_the_dead().win(4'000, 4'010, "c", 1, 110).lose(5'000, "c", 1);
  const auto f = judged(s, Check::G7);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("c waited"), std::string::npos) << f.why;
}

TEST(CheckLiveness, ATtlDeletionThatComesTooLateIsViolated) {
  const auto with = [](int gone) {
    return judged(waits_for_the_dead()
                      .gone(gone, 105)
                      .win(gone + 10, gone + 20, "c", 1, 110)
                      .release(gone + 30, gone + 40, "c", 1, 120),
                  Check::G7);
  };
  EXPECT_EQ(with(2'500).verdict, Verdict::holds) << with(2'500).why;
  EXPECT_EQ(with(4'500).verdict, Verdict::violated);
}

TEST(CheckLiveness, AStallOfAMemberExcusesNoMoreThanItself) {
  const auto with = [](int won) {
    auto s = waits_for_the_dead().gone(1'100, 105).stall(1'200, 2'000, "member 0");
    return judged(s.win(won, won + 10, "c", 1, 110).release(won + 20, won + 30, "c", 1, 120),
                  Check::G7);
  };
  EXPECT_EQ(with(2'500).verdict, Verdict::unknown);
  EXPECT_EQ(with(3'000).verdict, Verdict::violated);
}

/// Nobody knows what would have come had it waited on.
TEST(CheckLiveness, AStallExcusesWhoLeavesSoonAfter) {
  const auto verdict = [](bool is_free, int left) {
    auto s = waits_for_the_dead().stall(1'200, 2'000);
    if (is_free) s.gone(1'100, 105);
    return judged(s.ended(left, "c", 1, "cancelled"), Check::G7).verdict;
  };
  for (const bool is_free : {false, true}) {
    EXPECT_EQ(verdict(is_free, 2'200), Verdict::unknown) << is_free;
    EXPECT_EQ(verdict(is_free, 3'000), Verdict::violated) << is_free;
  }
  HistoryBuilder healed;
  healed.start(1, "a").ask(10, "a", 1, 4'150, true).refused(10, 20, "a", 1);
  EXPECT_EQ(
      judged(healed.ended(4'150, "a", 1, "timed_out").stall(1'000, 1'500), Check::G7).verdict,
      Verdict::unknown);
}

/// What made room for others may be in what was not read.
TEST(CheckCleanup, ADeleteThatAnUnreadOplogMayHoldIsExcused) {
  auto s = a_holds().crash(30, "a");
  EXPECT_EQ(judged(s, Check::G8).verdict, Verdict::violated);
  const auto f = judged(s.unread(8'900).end(9'000), Check::G8);
  EXPECT_EQ(f.violations, 0) << f.why;
  EXPECT_EQ(f.all_excused(), 1);
}

/// An attempt of a's executes after a has released, and nobody deletes that.
TEST(CheckCleanup, AGhostLeftAfterAReleaseHasToGoToo) {
  const auto with = [](int gone) {
    auto s = a_holds().release(30, 40, "a", 1, 110);
    s.also({.at_ns = 50 * kMs,
            .kind = Kind::put,
            .name = "lock",
            .lock_id = s.last_lock_id("a", 1),
            .order = 120});
    return judged(s.gone(gone, 130).end(9'000), Check::G8);
  };
  EXPECT_EQ(with(8'000).verdict, Verdict::violated);
  EXPECT_EQ(with(4'000).verdict, Verdict::holds) << with(4'000).why;
  EXPECT_EQ(with(4'000).counts.at("ghosts"), 1);
}

TEST(CheckLiveness, ACutRecordDoesNotShowThatSomethingNeverHappened) {
  auto s = a_holds();
  s.ask(30, "b", 1).refused(30, 40, "b", 1).release(50, 60, "a", 1, 105);
  auto cut = s.end(60'000);
  EXPECT_GT(judged(cut, Check::G7).violations, 0);
  std::erase_if(cut, [](const Event& e) { return e.kind == Kind::finish || e.at_ns > 60 * kMs; });
  EXPECT_EQ(judged(cut, Check::G7).violations, 0);
}

}  // namespace
}  // namespace leasehold::model
