#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckOwnership, ADeleteThatWasNotExecutedTookNothing) {
  for (const std::string outcome : {"unknown", "failed_before"}) {
    auto s = a_holds();
    s.clean_up(100, 120, "b", 1, 0).with([&](Event& e) { e.outcome = outcome; }).gone(110, 101);
    EXPECT_EQ(judged(s.end(9'000), Check::G6).violations, outcome == "unknown" ? 1 : 0);
  }
}

TEST(CheckRelease, AnAnswerThatNothingIsKnownOfIsNotAsked) {
  auto s = a_holds().release(400, 410, "a", 1, 0).with([](Event& e) { e.outcome = "unknown"; });
  EXPECT_TRUE(judged(s, Check::release).never_tested());
}

TEST(CheckCost, AFaultOrALostReplyExcusesTheSecondCommand) {
  HistoryBuilder fault, lost;
  for (HistoryBuilder* s : {&fault, &lost}) s->start(1, "a");
  fault.fault(5, "step-up").ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  EXPECT_EQ(judged(fault, Check::G9).all_excused(), 1);
  lost.ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  EXPECT_TRUE(judged(unanswered(lost.end(9'000), 1), Check::G9).never_tested());
}

TEST(CheckCost, AnAcquireThatTakesOneCommandInSpiteOfAFaultCountsAsChecked) {
  HistoryBuilder once;
  once.start(1, "a").fault(5, "step-up").ask(10, "a", 1).win(20, 30, "a", 1, 100);
  EXPECT_EQ(judged(once, Check::G9).checked, 1);
  EXPECT_EQ(judged(once, Check::G9).all_excused(), 0);
}

/// A process ended at 5,000 ms. All is healed at 1,000 ms.
History with_exit(HistoryBuilder story, const std::string& outcome, int signal = 0) {
  story.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  auto history = story.of(Kind::exit, 5'000, "a").with([&](Event& e) {
    e.outcome = outcome;
    e.signal = signal;
    e.message = "starting\na.cpp:33: check failed: !queue.full()\nbacktrace\n";
  }).end(9'000);
  for (Event& one : history) {
    if (one.kind == Kind::heal) one.at_ns = 1'000 * kMs;
  }
  sort_by_time(history);
  return history;
}

Finding alive_in(const History& history) { return judged(history, Check::alive); }

TEST(CheckAlive, AProcessThatDiesOfItselfIsViolatedByTheLock) {
  for (const char* how : {"crashed", "exited", "did not end"}) {
    const auto history = with_exit({}, how, std::string(how) == "crashed" ? 6 : 0);
    EXPECT_EQ(alive_in(history).verdict, Verdict::violated) << how;
    EXPECT_EQ(harness_failure(history), "") << how;
    EXPECT_NE(judged(history, Check::form).why.substr(0, 1), "a") << "no line is missing";
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
