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
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a");
  s.fault(900, "step-up");
  s.ask(40, "b", 1).refused(40, 50, "b", 1).win(5'000, 5'010, "b", 1, 110).lose(6'000, "b", 1);
  EXPECT_TRUE(judged(s, Check::G7, 9'900).never_tested());
}

/// The bound of b's wait is 1,000 ms, a little for drift, and 1,050 ms for two attempts.
HistoryBuilder waits_for_the_dead() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c").ask(10, "a", 1).win(10, 20, "a", 1, 100);
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

/// Found on a machine with 16 busy processes: each attempt outlasted its operation timeout.
TEST(CheckLiveness, TimeUnderAnAttemptThatServersKeepIsTheServers) {
  const auto with = [](int no_answer_until) {
    auto s = waits_for_the_dead().gone(1'100, 105).refused(1'200, 1'500, "c", 1);
    if (no_answer_until > 0) s.slow(1'200, no_answer_until, "c");
    s.win(2'500, 2'510, "c", 1, 110).release(2'520, 2'530, "c", 1, 120);
    constexpr std::int64_t kThatAttempt = 4;
    return find(judge(unanswered(s.end(9'900), kThatAttempt), {}), Check::G7);
  };
  EXPECT_EQ(with(1'500).violations, 0) << with(1'500).why;
  EXPECT_EQ(with(0).violations, 1) << "nothing kept it";
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

/// Two turns of about 2,050 ms: one for who died before, one for itself.
TEST(CheckLiveness, AHealedWaiterThatGetsNothingIsViolated) {
  const auto with = [](int timeout, const std::string& end) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1, timeout, true).refused(10, 20, "a", 1);
    return judged(s.ended(timeout, "a", 1, end), Check::G7).verdict;
  };
  EXPECT_EQ(with(8'000, "timed_out"), Verdict::violated);
  EXPECT_EQ(with(4'000, "timed_out"), Verdict::holds);  // it said that it waits no longer
  EXPECT_EQ(with(4'000, "unauthorized"), Verdict::violated);
}

TEST(CheckCleanup, ADocumentThatStaysIsViolated) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a");
  EXPECT_EQ(judged(s, Check::G8, 9'000).verdict, Verdict::violated);
  HistoryBuilder in_time;
  in_time.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a").gone(2'000, 120);
  const auto f = judged(in_time, Check::G8, 9'000);
  EXPECT_EQ(f.verdict, Verdict::holds);
  EXPECT_EQ(f.checked, 1);
}

/// By 5,020 ms: a lease and two margins after 20 ms, a second for the monitor, two for the reading.
TEST(CheckCleanup, ADocumentWaitsForAMajorityToDeleteIt) {
  const auto with = [](int without_from, int gone) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a");
    return judged(s.no_majority(without_from, 8'000).gone(gone, 120), Check::G8, 15'000);
  };
  EXPECT_EQ(with(4'900, 8'050).violations, 0) << with(4'900, 8'050).why;
  EXPECT_EQ(with(4'900, 8'050).all_excused(), 1);
  EXPECT_EQ(with(5'100, 8'050).verdict, Verdict::violated) << "it had one until it was late";
  EXPECT_EQ(with(4'900, 11'200).verdict, Verdict::violated) << "it had one again";
}

/// What made room for others may be in what was not read.
TEST(CheckCleanup, ADeleteThatAnUnreadOplogMayHoldIsExcused) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a");
  auto history = s.end(9'000);
  EXPECT_EQ(find(judge(history, {}), Check::G8).verdict, Verdict::violated);
  Event unread;
  unread.kind = Kind::reread;
  unread.at_ns = history.back().at_ns;
  unread.outcome = "unread";
  history.push_back(unread);
  const auto f = find(judge(history, {}), Check::G8);
  EXPECT_EQ(f.violations, 0) << f.why;
  EXPECT_EQ(f.all_excused(), 1);
}

/// An attempt of a's executes after a has released, and nobody deletes that.
TEST(CheckCleanup, AGhostLeftAfterAReleaseHasToGoToo) {
  const auto with = [](int gone) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).release(30, 40, "a", 1, 110);
    auto history = s.gone(gone, 130).end(9'000);
    Event ghost;
    ghost.kind = Kind::put;
    ghost.at_ns = 50 * kMs;
    ghost.name = "lock";
    ghost.order = 120;
    ghost.lock_id = HistoryBuilder::owner("a", 1) + ".1000.1";
    history.push_back(ghost);
    sort_by_time(history);
    return find(judge(history, {}), Check::G8);
  };
  EXPECT_EQ(with(8'000).verdict, Verdict::violated);
  EXPECT_EQ(with(4'000).verdict, Verdict::holds) << with(4'000).why;
  EXPECT_EQ(with(4'000).counts.at("ghosts"), 1);
}

/// A delete that is due waits for a worker, and is sent at the end of that.
TEST(CheckCongestion, WaitingForAWorkerIsExcusedForThatTime) {
  const auto given_back = [](int from, int to, int deleted) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).lose(900, "a", 1, "max_holding");
    if (from > 0) s.busy(from, to, "a");
    return judged(s.clean_up(deleted, deleted + 10, "a", 1, 110).ask(8'000, "a", 2),
                  Check::G7, 9'000);
  };
  EXPECT_EQ(given_back(0, 0, 1'800).violations, 1);
  const auto excused = given_back(900, 1'800, 1'800);
  EXPECT_EQ(excused.violations, 0) << excused.why;
  EXPECT_EQ(excused.excused[static_cast<std::size_t>(Excuse::congestion)], 1);
  EXPECT_EQ(given_back(900, 1'500, 2'500).violations, 1) << "a worker was free long before";
  EXPECT_EQ(given_back(900, 1'800, 1'000).all_excused(), 0) << "it was in time";
}

TEST(CheckLiveness, AProcessHandsALockOnOnlySoOften) {
  for (const std::int64_t most : {0, 2, 3}) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1).ask(11, "a", 2).ask(12, "a", 3).win(13, 20, "a", 1, 100);
    s.hand_over(100, 110, "a", 1, 2, 110).hand_over(200, 210, "a", 2, 3, 120);
    s.release(300, 310, "a", 3, 130).ask(400, "a", 4).ask(401, "a", 5).win(402, 410, "a", 4, 140);
    s.hand_over(500, 510, "a", 4, 5, 150).release(600, 610, "a", 5, 160);
    auto history = s.end(2'000);
    for (auto& e : history) e.holdings_in_a_row = e.kind == Kind::ask ? most : 0;
    const auto f = find(judge(history, {}), Check::G7);
    EXPECT_EQ(f.violations, most == 2 ? 1 : 0) << f.why;
  }
}

TEST(CheckCongestion, AnAttemptThatWaitedForAWorkerIsExcusedAndCounted) {
  const auto taken = [](int congested_until, int won, const char* whose) {
    HistoryBuilder s;
    s.start(1, "a").start(1, "b").start(1, "c").ask(10, "a", 1).win(10, 20, "a", 1, 100);
    s.ask(30, "b", 1).refused(30, 40, "b", 1).release(50, 60, "a", 1, 105);
    if (congested_until > 0) s.busy(70, congested_until, whose);
    return judged(s.win(won, won + 10, "b", 1, 110), Check::G7, 15'000);
  };
  const auto excused = [](const Finding& f) {
    return f.excused[static_cast<std::size_t>(Excuse::congestion)];
  };
  EXPECT_EQ(taken(0, 3'000, "b").violations, 1);
  EXPECT_EQ(taken(2'500, 3'000, "b").violations, 0);
  EXPECT_EQ(excused(taken(2'500, 3'000, "b")), 1);
  EXPECT_EQ(taken(2'500, 3'000, "c").violations, 1) << "another process was congested";
  EXPECT_EQ(taken(2'500, 5'000, "b").violations, 1) << "it had workers again";
  EXPECT_EQ(excused(taken(2'500, 500, "b")), 0) << "it was in time";
}

TEST(CheckLiveness, ACutRecordDoesNotShowThatSomethingNeverHappened) {
  HistoryBuilder s;
  s.start(1, "a").start(1, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.ask(30, "b", 1).refused(30, 40, "b", 1).release(50, 60, "a", 1, 105);
  auto cut = s.end(60'000);
  EXPECT_GT(find(judge(cut, {}), Check::G7).violations, 0);
  std::erase_if(cut, [](const Event& e) { return e.kind == Kind::finish || e.at_ns > 60 * kMs; });
  EXPECT_EQ(find(judge(cut, {}), Check::G7).violations, 0);
}

}  // namespace
}  // namespace leasehold::model
