#include <rapidcheck/gtest.h>

#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckLossTold, CountsWhatWasAskedAndTold) {
  const auto f = judged(
      holder().lose(1'010, "a", 1).notified(1'010, "a", 1).no(1'011, 1'012, "a", 1), Check::G5);
  EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
  EXPECT_EQ(f.checked, 1);
  EXPECT_EQ(f.counts.at("asked"), 10);
  EXPECT_EQ(f.counts.at("yes"), 5);
  EXPECT_EQ(f.counts.at("no"), 5);
  EXPECT_EQ(f.counts.at("notified"), 1);
}

/// The core's own deadline does not count where it is later than the lease.
TEST(CheckLossTold, TheLeaseIsCountedFromItsSendingByTheModel) {
  auto history = holder().lose(1'100, "a", 1).notified(1'100, "a", 1).yes(1'000, 1'099, "a", 1);
  auto events = history.end(9'000);
  for (auto& e : events) {
    if (e.kind == Kind::granted) e.deadline_ns += 90 * kMs;
  }
  EXPECT_EQ(find(judge(events, {}), Check::G5).verdict, Verdict::violated);
}

TEST(CheckLossTold, ALossThatWasNoneIsViolated) {
  auto early = holder().notified(500, "a", 1).lose(1'010, "a", 1);
  EXPECT_NE(judged(early, Check::G5).why.find("got lost() for a lock that it had not lost"),
            std::string::npos);
  auto released = holder().release(600, 610, "a", 1, 110).notified(1'010, "a", 1);
  EXPECT_EQ(judged(released, Check::G5).verdict, Verdict::violated);
}

TEST(CheckLossTold, APausedProcessIsToldWhenItRuns) {
  HistoryBuilder late = holder(), notified = holder();
  for (HistoryBuilder* s : {&late, &notified})
    s->pause(500, "a").resume(3'000, "a").lose(3'040, "a", 1);
  const auto f = judged(notified.notified(3'050, "a", 1), Check::G5);
  EXPECT_EQ(f.violations, 0) << f.why;
  EXPECT_EQ(f.excused[static_cast<std::size_t>(Excuse::pause)], 1);
  EXPECT_EQ(judged(late.notified(3'500, "a", 1), Check::G5).verdict, Verdict::violated);
}

TEST(CheckLossTold, ALateNotificationDuringAStallIsUnknown) {
  const auto story = [](int notified) {
    return holder().lose(1'011, "a", 1).notified(notified, "a", 1).stall(1'000, 1'900);
  };
  const auto f = judged(story(1'800), Check::G5);
  EXPECT_EQ(f.verdict, Verdict::unknown);
  EXPECT_NE(f.why.find("the machine stalled 890.0 ms: lock 'lock': a was notified"),
            std::string::npos)
      << f.why;
  EXPECT_EQ(f.excused[0], 1) << kExcuses[0];
  EXPECT_EQ(f.checked, 0);
  EXPECT_EQ(judged(story(2'301), Check::G5).verdict,
            Verdict::violated);  // late by more than that
}

TEST(CheckLossTold, AMemberThatStandsStillDelaysNoNotice) {
  const auto with = [](const char* who) {
    auto s = holder().lose(1'011, "a", 1).notified(1'800, "a", 1).stall(1'000, 1'900, who);
    return judged(s, Check::G5).verdict;
  };
  EXPECT_EQ(with(kMachine), Verdict::unknown);
  EXPECT_EQ(with("member-0"), Verdict::violated);
}

/// A notice is late from 1,410 ms on.
RC_GTEST_PROP(CheckLossTold, AStallExcusesAtMostItselfAndOnlyFromTheLossToTheNotice, ()) {
  const int notified = *rc::gen::inRange(1'411, 3'000);
  const int from = *rc::gen::inRange(1, 4'000), length = *rc::gen::inRange(1, 2'000);
  auto s = holder().lose(1'011, "a", 1).notified(notified, "a", 1);
  const int watchers = *rc::gen::inRange(1, 5);
  for (int i = 0; i < watchers; ++i) s.stall(from, from + length);
  const int inside = std::min(from + length, notified) - std::max(from, 1'010);
  RC_ASSERT(judged(s, Check::G5).verdict ==
            (inside < notified - 1'410 ? Verdict::violated : Verdict::unknown));
}

/// It was not notified, but for some ms only.
TEST(CheckLossTold, AStallExcusesNoMoreThanItselfWhileTheHandleWasThere) {
  const auto until = [](int end, bool dies) {
    auto s = holder().lose(1'011, "a", 1).stall(1'000, 1'500);
    s = dies ? s.ask(end, "a", 2).crash(end, "a") : s.release(end, end, "a", 1, 110);
    return judged(s, Check::G5);
  };
  for (const bool dies : {false, true}) {
    EXPECT_EQ(until(1'420, dies).verdict, Verdict::unknown) << until(1'420, dies).why;
    EXPECT_EQ(until(2'000, dies).verdict, Verdict::violated);
  }
}

/// Found by a soak: the harness learned of the death seconds after it.
TEST(CheckLossTold, AHolderKilledBeforeItsNextSignOfLifeNeedNotBeTold) {
  EXPECT_NE(judged(holder().crash(2'000, "a"), Check::G5).verdict, Verdict::violated);
  auto alive = holder().ask(1'900, "a", 2).crash(2'000, "a");
  EXPECT_EQ(judged(alive, Check::G5).verdict, Verdict::violated);
}

TEST(CheckLossTold, TheLongestHoldingIsADeadline) {
  const auto with = [](int last, int notified) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).yes(21, last, "a", 1);
    auto history = s.lose(notified, "a", 1).notified(notified, "a", 1).exact().end(9'000);
    for (auto& e : history) {
      if (e.kind == Kind::ask) e.max_holding_ms = 500;
    }
    return find(judge(history, {}), Check::G5).verdict;
  };
  EXPECT_EQ(with(509, 510), Verdict::holds);
  EXPECT_EQ(with(512, 510), Verdict::violated);
  EXPECT_EQ(with(509, 600), Verdict::violated);
}

}  // namespace
}  // namespace leasehold::model
