#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckQueueTurns, WaitersServedInTurnAreCounted) {
  auto s = two_wait();
  s.pass_on(300, 310, "a", 1, 315, "b", 1, 110).pass_on(400, 410, "b", 1, 415, "c", 1, 120);
  const auto f = judged(s.release(500, 510, "c", 1, 130), Check::G7);
  EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
  EXPECT_EQ(f.counts.at("queue_turns"), 2);
  EXPECT_EQ(f.counts.at("queue_waits"), 2);
}

/// `b` alone waits: for a's 280 ms from its grant to its release, and for two ways of 1,350 ms.
HistoryBuilder hears_at(int heard) {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.ask(30, "b", 1).refused(30, 40, "b", 1).joins_queue(35, "b", 1, 101, 3'000);
  return s.pass_on(300, 310, "a", 1, heard, "b", 1, 110);
}

TEST(CheckQueueTurns, WaitingLongerThanTheTurnsBeforeIsViolated) {
  EXPECT_EQ(judged(hears_at(3'000), Check::G7).verdict, Verdict::holds);
  const auto f = judged(hears_at(3'030), Check::G7);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("not served in the 2980.0 ms of the turns before it"), std::string::npos)
      << f.why;
}

TEST(CheckQueueTurns, AFaultAPauseOrAStallExcusesALateTurn) {
  EXPECT_EQ(judged(hears_at(3'030).fault(1'000, "step-up"), Check::G7).violations, 0);
  const auto paused = hears_at(3'030).pause(900, "b").resume(950, "b");
  EXPECT_EQ(judged(paused, Check::G7).violations, 0);
  EXPECT_EQ(judged(hears_at(3'030).stall(900, 1'200), Check::G7).verdict, Verdict::unknown);
}

TEST(CheckQueueTurns, ADeadFirstOfTheQueueCostsItsLease) {
  const auto with = [](int won) {
    auto s = two_wait();
    s.crash(200, "b").pass_on(300, 310, "a", 1, -1, "b", 1, 110);
    s.win(won, won + 10, "c", 1, 120).release(won + 20, won + 30, "c", 1, 130);
    return judged(s, Check::G7, 9'900);
  };
  EXPECT_EQ(with(2'000).verdict, Verdict::holds) << with(2'000).why;
  const auto f = with(5'500);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("c stood in the queue"), std::string::npos) << f.why;
}

TEST(CheckQueueTurns, AQueueOfWhichAnEntryIsMissingIsNoHistory) {
  auto s = two_wait();
  s.pass_on(300, 310, "a", 1, 315, "b", 1, 110).pass_on(400, 410, "b", 1, 415, "c", 1, 120);
  const auto whole = s.release(500, 510, "c", 1, 130).end(9'000);
  int places = 0;
  for (Index i = 0; i < whole.size(); ++i) {
    constexpr int kLast = 4;  // after it nothing shows how many are queued, nor is anybody served
    if (whole[i].kind != Kind::place || ++places == kLast) continue;
    auto history = whole;
    history.erase(history.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(find(judge(history, {}), Check::form).verdict, Verdict::unknown) << i;
  }
}

}  // namespace
}  // namespace leasehold::model
