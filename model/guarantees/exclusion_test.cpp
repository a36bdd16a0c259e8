#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// The write was read 90 ms before that: it bounds a takeover that nobody answered.
TEST(CheckLeases, ATakeoverWhoseReplyWasLostIsBoundedToo) {
  auto s = a_holds();
  s.crash(30, "a").ask(40, "b", 1).win_too_late(900, 1'200, "b", 1, 110);
  const auto f = judged(unanswered(s.end(9'000), 2), Check::G1);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("at least 110.0 ms before"), std::string::npos) << f.why;
}

TEST(CheckLeases, AnEarlyTtlDeletionIsViolatedWhenTheNextOneGetsIt) {
  auto s = a_holds();
  s.gone(300, 105).ask(400, "b", 1).win(400, 410, "b", 1, 110).crash(420, "a");
  EXPECT_EQ(judged(s, Check::G1).verdict, Verdict::violated);
}

TEST(CheckLeases, AWriteWhoseTimeCannotBeBoundedIsNotViolated) {
  // b's reply came late, and its write was read late: it may have executed in time
  auto s = a_holds();
  s.crash(30, "a").ask(40, "b", 1).win(900, 1'020, "b", 1, 110).before(3).at_ns = 1'020 * kMs;
  EXPECT_EQ(judged(s.end(9'000), Check::G1).verdict, Verdict::holds);
}

/// The lock is b's from 990 on, for whatever reason.
HistoryBuilder taken_over() {
  auto s = a_holds();
  s.ask(40, "b", 1).win(980, 990, "b", 1, 110).lose(1'010, "a", 1).notified(1'010, "a", 1);
  return s;
}

TEST(CheckExclusion, AnswersOfSeveralLinesAreOneBelief) {
  auto s = taken_over().yes(21, 30, "a", 1).yes(995, 996, "a", 1).yes(992, 993, "b", 1);
  EXPECT_EQ(judged(s, Check::G2).verdict, Verdict::violated);
}

TEST(CheckExclusion, OneQuestionThatTookLongSpansNothing) {
  auto s = taken_over().yes(1'005, 21, "a", 1).yes(991, 1'900, "b", 1);
  const auto f = judged(s, Check::G2);
  EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
  EXPECT_EQ(f.checked, 1);
}

TEST(CheckExclusion, TwoCallersOfOneProcessAreTwo) {
  auto s = two_callers();
  s.hand_over(300, 310, "a", 1, 2, 110).release(400, 410, "a", 2, 120);
  s.yes(21, 330, "a", 1).yes(311, 399, "a", 2);
  EXPECT_EQ(judged(s, Check::G2).verdict, Verdict::violated);
}

TEST(CheckExclusion, ABeliefThatReturnsIsViolated) {
  auto s = taken_over().yes(21, 900, "a", 1).no(910, 911, "a", 1).yes(920, 921, "a", 1);
  EXPECT_NE(judged(s, Check::G2).why.find("was true again"), std::string::npos);
  EXPECT_EQ(judged(s, Check::G5).verdict, Verdict::violated);
}

/// c's owner had won before b, unheard: its first put is earlier in the server's order.
TEST(CheckFence, AHolderCountsFromTheGrantThatItHeardOf) {
  const auto s = good().also({.at_ns = 425 * kMs,
                              .kind = Kind::put,
                              .name = "lock",
                              .lock_id = HistoryBuilder::owner("c", 1) + ".1000.99",
                              .order = 125});
  EXPECT_NE(judged(s.end(9'000), Check::G3).verdict, Verdict::violated);
}

/// c's held() was true until 2'479, whatever deadline the core had noted.
TEST(CheckFence, TheCurrentHolderIsWhoWasToldThatItHolds) {
  const auto refused = [](auto wanted) {
    HistoryBuilder s = good();
    auto history = s.write(2'400, 2'410, "c", 1, "refused").end(9'000);
    std::erase_if(history, [&](const Event& e) { return e.process == "c" && wanted(e); });
    for (auto& e : history) {
      if (e.kind == Kind::granted) e.deadline_ns -= 200 * kMs;
    }
    return judged(history, Check::G3).verdict;
  };
  EXPECT_EQ(refused([](const Event&) { return false; }), Verdict::violated);
  EXPECT_NE(refused([](const Event& e) { return e.kind == Kind::held; }), Verdict::violated);

  HistoryBuilder unasked = good();
  unasked.start(4, "e").ask(2'700, "e", 1).win(4'600, 4'610, "e", 1, 190);
  unasked.write(4'620, 4'630, "e", 1, "refused").release(4'640, 4'650, "e", 1, 200);
  EXPECT_EQ(judged(unasked, Check::G3).verdict, Verdict::holds);
  EXPECT_EQ(judged(unasked.yes(4'611, 4'635, "e", 1), Check::G3).verdict, Verdict::violated);
}

}  // namespace
}  // namespace leasehold::model
