#include "model/guarantees/checker_stories.hpp"

/// Hostile histories: each has an error, and beside it what an excuse may rest on. Where the excuse
/// does not reach the error, it is violated; where it does, it is excused and counted.
namespace leasehold::model {
namespace {

std::int64_t count(const Finding& f, Excuse why) {
  return f.excused[static_cast<std::size_t>(why)];
}

/// The answers that refused this process are lost.
History unheard(History h, const std::string& process) {
  for (Event& e : h) {
    if (e.kind != Kind::reply || e.process != process || e.matched > 0) continue;
    e.outcome = "unknown";
    e.matched = e.order = 0;
  }
  return h;
}

/// Its process is notified of the loss at `notified`, and does not run for `length` each 500 ms.
History stalls_often(int length, int notified) {
  auto s = a_holds().yes(21, 1'009, "a", 1);
  s.lose(1'010, "a", 1).notified(notified, "a", 1);
  for (int from = 1'000; from + length < notified; from += 500) s.dawdles(from, from + length, "a");
  return s.release(8'950, 8'960, "a", 1, 110).end(9'000);
}

TEST(Excuses, OwnStallsExcuseNoLongerThanTheyLast) {
  EXPECT_EQ(judged(stalls_often(150, 7'000), Check::G5).verdict, Verdict::violated);
  // Due by 1,410 ms; the first two stalls last 290 ms after the loss.
  EXPECT_EQ(judged(stalls_often(150, 1'705), Check::G5).verdict, Verdict::violated);
  const auto inside = judged(stalls_often(150, 1'695), Check::G5);
  EXPECT_EQ(inside.violations, 0) << inside.why;
  EXPECT_EQ(count(inside, Excuse::pause), 1);
}

/// A lock is free from 50 ms on; the only waiter's attempts all hang for 300 ms.
HistoryBuilder hangs(bool healed, int until) {
  auto s = a_holds();
  s.release(50, 60, "a", 1, 110).ask(100, "b", 1, 60'000, healed);
  for (int at = 100; at < until; at += 350) s.refused(at, at + 300, "b", 1);
  return s;
}

TEST(Excuses, AnAttemptThatHangsIsTheLocksErrorUnlessServersOrLinksKeptIt) {
  const auto with = [](bool live, bool healed, int slow_to, int won) {
    auto s = hangs(healed, won == 0 ? 59'000 : 400);
    if (slow_to > 0) s.slow(100, slow_to, "b");
    won > 0 ? s.win(won, won + 10, "b", 1, 120) : s.ended(60'000, "b", 1, "timed_out");
    auto history = unheard(s.end(70'000), "b");
    history.front().live = live;
    return judged(history, Check::G7);
  };
  for (const bool live : {false, true}) {
    for (const bool healed : {false, true}) {
      EXPECT_EQ(with(live, healed, 0, 0).verdict, Verdict::violated) << live << healed;
      EXPECT_EQ(with(live, healed, 400, 0).verdict, Verdict::violated) << "that is no minute";
    }
    // Due by 1,150 ms; the attempt in vain and the pause after it last until 850 ms.
    EXPECT_EQ(with(live, false, 0, 1'700).violations, 1);
    EXPECT_EQ(with(live, false, 400, 1'950).violations, 1);
    const auto inside = with(live, false, 400, 1'850);
    EXPECT_EQ(inside.violations, 0) << inside.why;
    EXPECT_EQ(count(inside, Excuse::slow), 1);
  }
}

TEST(Excuses, TheLinksOfOneProcessAreNobodyElses) {
  const auto with = [](const char* whose) {
    auto s = a_holds();
    s.release(50, 60, "a", 1, 110).ask(100, "b", 1).refused(100, 400, "b", 1);
    s.fault(90, "cut-link", "begins", whose).fault(1'000, "cut-link", "ends", whose);
    auto history = unheard(s.end(9'000), "b");
    return judged(history, Check::G7);
  };
  EXPECT_EQ(with("c").violations, 1);
  EXPECT_EQ(with("b").violations, 1) << "one attempt of it was in vain, and no other followed";
}

TEST(Excuses, AClockThatWasMovedExcusesNoDeletion) {
  auto s = a_holds().yes(21, 500, "a", 1);
  s.ask(30, "b", 1, 300).refused(30, 40, "b", 1).ended(300, "b", 1, "timed_out");
  s.clean_up(310, 320, "b", 1, 105).unanswered().release(900, 910, "a", 1, 0);
  const auto history = s.fault(5'000, "clock-jump").end(9'000);
  EXPECT_EQ(judged(history, Check::G6).verdict, Verdict::violated);
  EXPECT_EQ(accept(digest(history)).steps.back().verdict, Verdict::violated);
}

TEST(Excuses, AForcedReleaseThatWasNeverWrittenExplainsNoLoss) {
  auto s = a_holds().extend(300, 310, "a", 1, 110);
  s.extend(800, 810, "a", 1, 120).lose(815, "a", 1, "not_owner").notified(816, "a", 1);
  s.fault(200, "force-release", "", "lock").with([](Event& e) { e.lock_id = "admin.1000.1"; });
  const auto history = s.release(830, 840, "a", 1, 130).end(9'000);
  EXPECT_EQ(accept(digest(history)).steps.back().verdict, Verdict::violated);
}

TEST(Excuses, AProcessThatWasSilentLongBeforeItWasKilledIsLate) {
  const auto with = [](int killed) {
    auto s = a_holds();
    s.release(50, 60, "a", 1, 110).ask(100, "a", 2, 2'000).refused(100, 110, "a", 2);
    return s.crash(killed, "a").end(40'000);
  };
  EXPECT_EQ(judged(with(30'000), Check::G7).verdict, Verdict::violated);
  // Overdue from 3,200 ms on. It may have stood still for 3,000 ms, unreported.
  EXPECT_EQ(judged(with(6'300), Check::grounded).violations, 1);
  const auto inside = judged(with(6'100), Check::grounded);
  EXPECT_EQ(inside.violations, 0) << inside.why;
  EXPECT_EQ(count(inside, Excuse::pause), 1);
}

TEST(Excuses, OneOwnStallDoesNotExcuseWhatNeverEnds) {
  const auto with = [](int stalled_until) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1, 1'000).win_too_late(10, 20, "a", 1, 100);
    s.dawdles(700, stalled_until, "a").ask(5'000, "a", 2, 6'000).refused(5'000, 5'010, "a", 2);
    return judged(s.ended(6'000, "a", 2, "timed_out").end(40'000), Check::grounded);
  };
  EXPECT_EQ(with(850).verdict, Verdict::violated);
  const auto inside = with(5'999);
  EXPECT_EQ(inside.violations, 0) << inside.why;
  EXPECT_EQ(count(inside, Excuse::pause), 2) << "the win, and the call";
}

TEST(Excuses, OnlyCommandsUnderWayTakeAWorker) {
  const auto with = [](int workers, int won) {
    auto s = a_holds();
    s.release(50, 60, "a", 1, 110).ask(100, "b", 1).refused(100, 110, "b", 1);
    for (int at = 120; at < 2'000; at += 900) s.look(at, at + 990, "b");
    s.congestion(130, 131, "b").win(won, won + 10, "b", 1, 120);
    auto history = s.end(9'000);
    for (Event& e : history) e.workers = e.kind == Kind::start ? workers : 0;
    return judged(history, Check::G7);
  };
  // Due by 1,150 ms; a worker that is the only one was taken from 120 to 2,910 ms.
  EXPECT_EQ(with(0, 2'000).violations, 1) << "it says so itself, and nothing shows it";
  EXPECT_EQ(with(3, 2'000).violations, 1);
  EXPECT_EQ(with(1, 4'100).violations, 1);
  const auto inside = with(1, 3'900);
  EXPECT_EQ(inside.violations, 0) << inside.why;
  EXPECT_EQ(count(inside, Excuse::congestion), 1);
}

}  // namespace
}  // namespace leasehold::model
