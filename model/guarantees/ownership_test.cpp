#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// `a` holds and `b` waits in the queue, refused at 30 ms.
HistoryBuilder queued() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c");
  s.ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(30, "b", 1).refused(30, 40, "b", 1);
  return s;
}

TEST(CheckOwnership, AReleaseThatGivesAwayAnothersLockIsViolated) {
  auto s = queued();
  s.lose(1'010, "a", 1).ask(50, "c", 1).win(1'020, 1'030, "c", 1, 105);
  s.pass_on(1'040, 1'050, "a", 1, 1'060, "b", 1, 110);
  const auto f = judged(s, Check::G6);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("a release of a gave away another's lock"), std::string::npos) << f.why;
  EXPECT_EQ(judged(s, Check::G1).verdict, Verdict::violated) << "c had a lease";
}

TEST(CheckOwnership, ADeleteThatWasNotExecutedTookNothing) {
  for (const std::string outcome : {"unknown", "failed_before"}) {
    HistoryBuilder s;
    s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
    auto history = s.clean_up(100, 120, "b", 1, 0).gone(110, 101).end(9'000);
    for (auto& e : history) {
      if (e.kind == Kind::reply && e.verb == "delete") e.outcome = outcome;
    }
    EXPECT_EQ(find(judge(history, {}), Check::G6).violations, outcome == "unknown" ? 1 : 0);
  }
}

/// The answer of a release, changed by hand.
Finding with_answer(HistoryBuilder story, const std::string& outcome) {
  auto history = story.end(9'000);
  for (auto& e : history) {
    if (e.kind == Kind::released) e.outcome = outcome;
    if (e.kind == Kind::reply && e.verb == "delete" && e.order == 0) e.order = 115;
  }
  return find(judge(history, {}), Check::release);
}

TEST(CheckRelease, AnAnswerThatTheServerRefutesIsViolated) {
  HistoryBuilder held, taken, there;
  for (HistoryBuilder* s : {&held, &taken, &there}) {
    s->start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  }
  held.release(400, 410, "a", 1, 120);
  taken.gone(300, 105).release(400, 410, "a", 1, 0);
  there.release(400, 410, "a", 1, 0);
  EXPECT_EQ(with_answer(held, "released").verdict, Verdict::holds);
  EXPECT_EQ(with_answer(held, "not_owner").verdict, Verdict::violated);
  EXPECT_EQ(with_answer(taken, "not_owner").verdict, Verdict::holds);
  EXPECT_EQ(with_answer(taken, "released").verdict, Verdict::violated);
  EXPECT_EQ(with_answer(there, "not_owner").verdict, Verdict::violated);
  EXPECT_EQ(with_answer(there, "released").verdict, Verdict::violated);
  EXPECT_TRUE(with_answer(there, "unknown").never_tested());
}

TEST(CheckCost, AFaultARivalAndALostReplyExcuseTheSecondCommand) {
  HistoryBuilder fault, rival, other;
  for (HistoryBuilder* s : {&fault, &rival, &other}) s->start(1, "a").start(2, "b");
  fault.fault(5, "step-up").ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  rival.ask(5, "b", 1).win(5, 8, "b", 1, 90).release(12, 14, "b", 1, 95);
  rival.ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  other.ask(10, "a", 1).ask(11, "a", 2).look(12, 15, "a").win(20, 30, "a", 1, 100);
  EXPECT_EQ(judged(fault, Check::G9).all_excused(), 1);
  EXPECT_EQ(judged(rival, Check::G9).checked, 1);  // b's
  EXPECT_EQ(judged(rival, Check::G9).verdict, Verdict::holds);
  EXPECT_EQ(judged(other, Check::G9).verdict, Verdict::holds);  // its look was for another call
  HistoryBuilder lost;
  lost.start(1, "a").ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  EXPECT_TRUE(find(judge(unanswered(lost.end(9'000), 1), {}), Check::G9).never_tested());
}

TEST(CheckCost, AnAcquireThatTakesOneCommandInSpiteOfAFaultCountsAsChecked) {
  HistoryBuilder once;
  once.start(1, "a").fault(5, "step-up").ask(10, "a", 1).win(20, 30, "a", 1, 100);
  EXPECT_EQ(judged(once, Check::G9).checked, 1);
  EXPECT_EQ(judged(once, Check::G9).all_excused(), 0);
}

/// A process ended at 5,000 ms. All is healed at 1,000 ms.
History with_exit(HistoryBuilder story, const std::string& outcome, int signal = 0) {
  Event e;
  e.at_ns = 5'000 * kMs;
  e.kind = Kind::exit;
  e.process = "a";
  e.outcome = outcome;
  e.signal = signal;
  e.message = "starting\na.cpp:33: check failed: !queue.full()\nbacktrace\n";
  story.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  auto history = story.end(9'000);
  for (Event& one : history) {
    if (one.kind == Kind::heal) one.at_ns = 1'000 * kMs;
  }
  history.push_back(e);
  sort_by_time(history);
  return history;
}

Finding alive_in(const History& history) { return find(judge(history, {}), Check::alive); }

TEST(CheckAlive, AProcessThatDiesOfItselfIsViolatedByTheLock) {
  for (const char* how : {"crashed", "exited", "did not end"}) {
    const auto history = with_exit({}, how, std::string(how) == "crashed" ? 6 : 0);
    EXPECT_EQ(alive_in(history).verdict, Verdict::violated) << how;
    EXPECT_EQ(harness_failure(history), "") << how;
    EXPECT_NE(find(judge(history, {}), Check::form).why.substr(0, 1), "a") << "no line is missing";
  }
  const auto crash = alive_in(with_exit({}, "crashed", 6));
  EXPECT_EQ(crash.why,
            "a crashed by signal 6 although the harness had not stopped it: a.cpp:33: check "
            "failed: !queue.full()");
}

TEST(CheckAlive, AProcessThatSomebodyKillsOrThatCannotStartSaysNothingOfTheLock) {
  for (const char* how : {"killed", "ended at its start"}) {
    const auto history = with_exit({}, how, 9);
    EXPECT_EQ(alive_in(history).verdict, Verdict::unknown) << how;
    EXPECT_TRUE(harness_failure(history).starts_with("a " + std::string(how) + " by signal 9"));
  }
}

TEST(CheckAlive, AnEndIsWaitedForInVainUnlessTheMachineStoodStillForHalfOfTheTime) {
  HistoryBuilder some, most;
  some.stall(1'000, 2'900);
  most.stall(1'000, 3'100);
  EXPECT_EQ(alive_in(with_exit(some, "did not end")).verdict, Verdict::violated);
  const auto excused = alive_in(with_exit(most, "did not end"));
  EXPECT_EQ(excused.verdict, Verdict::holds);
  EXPECT_EQ(excused.all_excused(), 1);
  EXPECT_EQ(alive_in(with_exit(most, "exited")).verdict, Verdict::violated);
}

}  // namespace
}  // namespace leasehold::model
