#include "model/checkers.hpp"

#include <gtest/gtest.h>

#include "model/story.hpp"

namespace leasehold::model {
namespace {

/// Two processes, a release, a crash, a takeover after the lease, a late comer.
Story good() {
  Story s;
  s.start(1, "a").start(2, "b").start(3, "c");
  s.ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.ask(12, "b", 1).refused(12, 22, "b", 1);
  s.write(30, 40, "a", 1, "accepted", 105);
  s.extend(300, 310, "a", 1, 110);
  s.release(400, 410, "a", 1, 120);
  s.win(430, 440, "b", 1, 130);
  s.write(450, 460, "b", 1, "accepted", 135);
  s.ask(470, "c", 1).refused(470, 475, "c", 1);
  s.crash(500, "b");
  s.win(1'480, 1'490, "c", 1, 140);
  s.lose(2'480, "c", 1);
  s.write(2'500, 2'510, "c", 1, "accepted", 150);
  s.release(2'520, 2'530, "c", 1, 160);
  return s;
}

Finding find(const std::vector<Finding>& findings, const std::string& guarantee) {
  for (const auto& f : findings) {
    if (f.guarantee == guarantee) return f;
  }
  return {};
}

/// The finding on one guarantee of a history that is whole.
Finding judged(Story story, const std::string& guarantee, int end = 9'000) {
  const auto findings = judge(story.end(end), {});
  EXPECT_EQ(find(findings, "form").verdict, Verdict::holds) << find(findings, "form").why;
  return find(findings, guarantee);
}

TEST(Checkers, AGoodHistoryHoldsEverywhere) {
  for (const auto& f : judge(good().end(9'000), {})) {
    EXPECT_EQ(f.verdict, Verdict::holds) << f.guarantee << ": " << f.why;
  }
}

TEST(Checkers, BelowItsFloorAFindingIsUnknownNeverGreen) {
  const auto findings = judge(good().end(9'000), {{"G1", 1'000}});
  EXPECT_EQ(find(findings, "G1").verdict, Verdict::unknown);
  EXPECT_EQ(overall(findings), Verdict::unknown);
}

TEST(CheckLeases, ALeaseGivenAwayEarlyIsViolated) {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.crash(30, "a").ask(40, "b", 1).win(900, 990, "b", 1, 110);
  const auto f = judged(s, "G1");
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("at least 20.0 ms before"), std::string::npos) << f.why;
}

TEST(CheckLeases, AnEarlyTtlDeletionIsViolatedWhenTheNextOneGetsIt) {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.gone(300, 105).ask(400, "b", 1).win(400, 410, "b", 1, 110).crash(420, "a");
  EXPECT_EQ(judged(s, "G1").verdict, Verdict::violated);
}

/// Session 2 of the process waits while session 1 holds.
Story two_callers() {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(30, "a", 2);
  return s;
}

TEST(CheckLeases, AHandOverIsNoTakeover) {
  auto s = two_callers();
  s.hand_over(300, 310, "a", 1, 2, 110).release(400, 410, "a", 2, 120);
  const auto f = judged(s, "G1");
  EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
  EXPECT_EQ(f.counts.at("hand_overs"), 1);
  EXPECT_FALSE(f.counts.contains("takeovers"));
  EXPECT_EQ(judged(s, "G9").verdict, Verdict::holds);
}

TEST(CheckOwnership, AHandOverOfAnothersLockIsViolated) {
  auto s = two_callers();
  s.ask(40, "b", 1).win(1'100, 1'110, "b", 1, 105).hand_over(1'300, 1'310, "a", 1, 2, 110);
  const auto f = judged(s, "G6");
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("a hand-over of a wrote over another's lock"), std::string::npos) << f.why;
}

TEST(CheckForm, AHandOverByWhoStillHoldsIsRefused) {
  auto s = two_callers();
  s.hand_over(300, 310, "a", 1, 2, 110);
  auto history = s.end(9'000);
  std::erase_if(history,
                [](const Event& e) { return e.kind == Kind::release || e.kind == Kind::released; });
  const auto f = find(judge(history, {}), "form");
  EXPECT_EQ(f.verdict, Verdict::unknown);
  EXPECT_NE(f.why.find("a hand-over by who still holds"), std::string::npos) << f.why;
}

TEST(CheckLeases, WhatCannotBeBoundedIsNotViolated) {
  Story s;  // b's reply came late: its write may have executed in time
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.crash(30, "a").ask(40, "b", 1).win(900, 1'020, "b", 1, 110);
  EXPECT_EQ(judged(s, "G1").verdict, Verdict::holds);
}

TEST(CheckLoss, ALeaseThatWasOverWhenItWasGrantedIsViolated) {
  Story s;  // the reply took longer than the lease
  s.start(1, "a").ask(10, "a", 1).win(10, 1'020, "a", 1, 100).lose(1'021, "a", 1);
  s.release(1'022, 1'030, "a", 1, 110);
  EXPECT_EQ(judged(s, "G5").verdict, Verdict::violated);
}

TEST(CheckLiveness, ARetryThatDoesNotRecogniseItsWinIsViolated) {
  auto history = [] {
    Story s;
    s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).release(30, 40, "a", 1, 110);
    return s.end(9'000);
  }();
  for (auto& e : history) {
    if (e.kind != Kind::reply || e.detail == "delete") continue;
    e.detail = "acquire";
    e.owner = Story::owner("a", 1);
    e.lock_id = e.owner + ".1000.77";
    e.matched = 0;
  }
  EXPECT_EQ(find(judge(history, {}), "G7").verdict, Verdict::violated);
}

TEST(CheckExclusion, AnOverlapOf20MsIsFound) {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.ask(40, "b", 1).win(980, 990, "b", 1, 110).lose(1'010, "a", 1);
  const auto f = judged(s, "G2");
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("a and b both believed for 20.0 ms"), std::string::npos) << f.why;
  EXPECT_EQ(f.events.size(), 2u);
}

TEST(CheckExclusion, ACrashEndsABelief) {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.crash(500, "a").ask(510, "b", 1).win(510, 520, "b", 1, 110);
  EXPECT_EQ(judged(s, "G2").verdict, Verdict::holds);
}

TEST(CheckFence, AnEarlierHoldersWriteAfterALaterOnesIsViolated) {
  Story s = good();
  s.write(2'540, 2'550, "a", 1, "accepted", 170);
  EXPECT_EQ(judged(s, "G3").verdict, Verdict::violated);
}

TEST(CheckFence, AHolderCountsFromTheGrantThatItHeardOf) {
  auto history = good().end(9'000);
  // c's owner had won before b, unheard: its first put stands earlier in the server's order.
  Event unheard;
  unheard.kind = Kind::put;
  unheard.at_ns = 425 * kMs;
  unheard.name = "lock";
  unheard.order = 125;
  unheard.lock_id = Story::owner("c", 1) + ".1000.99";
  history.push_back(unheard);
  sort_by_time(history);
  EXPECT_EQ(find(judge(history, {}), "G3").verdict == Verdict::violated, false);
}

TEST(CheckFence, ARefusedStaleWriteIsRight) {
  Story s = good();
  s.write(2'540, 2'550, "a", 1, "refused");
  const auto f = judged(s, "G3");
  EXPECT_EQ(f.verdict, Verdict::holds);
  EXPECT_EQ(f.counts.at("stale_writes_refused"), 1);
}

TEST(CheckFence, RefusingTheCurrentHolderIsViolated) {
  Story s = good();
  s.write(1'500, 1'510, "c", 1, "refused");
  EXPECT_EQ(judged(s, "G3").verdict, Verdict::violated);
}

TEST(CheckTokenOrder, ATokenThatIsNotItsWritesTimeIsViolated) {
  auto history = good().end(9'000);
  for (auto& e : history) {
    if (e.kind == Kind::granted && e.token == 130) e.token = 99;
  }
  EXPECT_EQ(find(judge(history, {}), "G4").verdict, Verdict::violated);
}

TEST(CheckTokenOrder, AGrantThatTheServerForgotIsViolated) {
  auto history = good().end(9'000);
  std::erase_if(history, [](const Event& e) {
    return (e.kind == Kind::put || e.kind == Kind::gone) && e.order >= 140;
  });
  EXPECT_EQ(find(judge(history, {}), "G4").verdict, Verdict::violated);
}

TEST(CheckLossTold, SilenceAfterTheDeadlineIsViolated) {
  Story s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  const auto f = judged(s, "G5", 9'000);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("never"), std::string::npos);
}

TEST(CheckLossTold, APausedProcessIsToldWhenItRuns) {
  Story late, told;
  for (Story* s : {&late, &told}) {
    s->start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100);
    s->pause(500, "a").resume(3'000, "a");
  }
  EXPECT_EQ(judged(told.lose(3'050, "a", 1), "G5").verdict, Verdict::holds);
  EXPECT_EQ(judged(late.lose(3'500, "a", 1), "G5").verdict, Verdict::violated);
}

TEST(CheckOwnership, ALateReleaseThatDeletesTheNextHoldersLockIsViolated) {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.lose(1'010, "a", 1).ask(40, "b", 1).win(1'020, 1'030, "b", 1, 110);
  s.release(1'100, 1'110, "a", 1, 120);
  s.lose(2'020, "b", 1);
  const auto f = judged(s, "G6");
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("of a deleted the lock of another"), std::string::npos) << f.why;
}

TEST(CheckOwnership, AnExtensionThatInsertsIsViolated) {
  Story s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).gone(200, 105);
  s.extend(300, 310, "a", 1, 110).lose(1'300, "a", 1);
  EXPECT_EQ(judged(s, "G6").verdict, Verdict::violated);
}

TEST(CheckLiveness, AWaiterThatOverstaysItsTimeIsViolated) {
  Story s;
  s.start(1, "a").ask(10, "a", 1, 500).refused(10, 20, "a", 1).ended(1'200, "a", 1, "timed_out");
  EXPECT_EQ(judged(s, "G7").verdict, Verdict::violated);
}

/// Found by a soak: the harness learned of the death seconds after it.
TEST(CheckLoss, AHolderKilledBeforeItsNextSignOfLifeNeedNotBeTold) {
  Story s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(2'000, "a");
  EXPECT_NE(judged(s, "G5").verdict, Verdict::violated);
  Story alive;
  alive.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(1'900, "a", 2);
  alive.crash(2'000, "a");
  EXPECT_EQ(judged(alive, "G5").verdict, Verdict::violated);
}

/// Found by a soak: the watchdog reports a stall when it is over, and a killed process never does.
TEST(CheckLiveness, AWaiterKilledBeforeItsNextSignOfLifeIsNotLate) {
  Story s;
  s.start(1, "a").ask(10, "a", 1, 500).refused(10, 20, "a", 1).crash(1'200, "a");
  EXPECT_NE(judged(s, "G7").verdict, Verdict::violated);
  Story alive;  // it spoke, and of something else
  alive.start(1, "a").ask(10, "a", 1, 500).refused(10, 20, "a", 1).ask(1'100, "a", 2);
  alive.crash(1'200, "a");
  EXPECT_EQ(judged(alive, "G7").verdict, Verdict::violated);
}

TEST(CheckLiveness, ADeadHoldersLockThatDoesNotPassOnIsViolated) {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a");
  s.ask(40, "b", 1).refused(40, 50, "b", 1).win(5'000, 5'010, "b", 1, 110).lose(6'000, "b", 1);
  const auto f = judged(s, "G7", 9'900);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("dead holder's lock"), std::string::npos) << f.why;
}

TEST(CheckLiveness, AFaultInTheMeantimeExcusesIt) {
  Story s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a");
  s.fault(900, "step-up");
  s.ask(40, "b", 1).refused(40, 50, "b", 1).win(5'000, 5'010, "b", 1, 110).lose(6'000, "b", 1);
  EXPECT_EQ(judged(s, "G7", 9'900).verdict, Verdict::holds);
}

TEST(CheckLiveness, AHealedWaiterThatGetsNothingIsViolated) {
  Story s;
  s.start(1, "a").ask(10, "a", 1, 500, "healed").refused(10, 20, "a", 1);
  s.ended(500, "a", 1, "timed_out");
  EXPECT_EQ(judged(s, "G7").verdict, Verdict::violated);
}

TEST(CheckCleanup, ADocumentThatStaysIsViolated) {
  Story s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a");
  EXPECT_EQ(judged(s, "G8", 9'000).verdict, Verdict::violated);
  Story in_time;
  in_time.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).crash(30, "a").gone(2'000, 120);
  const auto f = judged(in_time, "G8", 9'000);
  EXPECT_EQ(f.verdict, Verdict::holds);
  EXPECT_EQ(f.checked, 1);
}

TEST(CheckCost, ADriverThatSendsMoreThanItWasAskedIsViolated) {
  auto history = good().end(9'000);
  Event wire;
  wire.kind = Kind::wire;
  wire.at_ns = 8'000 * kMs;
  wire.process = "a";
  wire.detail = "findAndModify";
  wire.matched = 2;
  history.insert(history.end() - 2, wire);
  EXPECT_EQ(find(judge(history, {}), "G9").verdict, Verdict::violated);
}

TEST(CheckForm, WhatIsNotWholeIsUnknown) {
  const auto whole = good().end(9'000);
  int noticed = 0;
  for (Index i = 0; i < whole.size(); ++i) {
    auto dropped = whole, doubled = whole;
    dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(i));
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    noticed += overall(judge(dropped, {})) != Verdict::holds ? 1 : 0;
    noticed += overall(judge(doubled, {})) != Verdict::holds ? 1 : 0;
  }
  EXPECT_GE(noticed * 10, static_cast<int>(whole.size()) * 2 * 9);
}

}  // namespace
}  // namespace leasehold::model
