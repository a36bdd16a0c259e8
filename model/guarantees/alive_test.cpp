#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

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
