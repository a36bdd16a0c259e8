#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckQueueLine, ServingALaterWaiterFirstIsViolated) {
  auto s = two_wait();
  s.pass_on(300, 310, "a", 1, 315, "c", 1, 110).pass_on(400, 410, "c", 1, 415, "b", 1, 120);
  const auto f = judged(s.release(500, 510, "b", 1, 130), Check::G7);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_EQ(f.violations, 1);
  EXPECT_NE(f.why.find("b stood in the queue, which served c before it"), std::string::npos)
      << f.why;
}

/// `b` has the lock, given by the queue, and `c` is queued.
HistoryBuilder one_waits(int good_until = 3'000) {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.ask(30, "b", 1).refused(30, 40, "b", 1).joins_queue(35, "b", 1, 101, 3'000);
  s.ask(50, "c", 1).refused(50, 60, "c", 1).joins_queue(55, "c", 1, 102, good_until);
  return s.pass_on(300, 310, "a", 1, 315, "b", 1, 110);
}

TEST(CheckQueueLine, AProcessThatNeverQueuedHasNoDuties) {
  auto s = two_wait();
  s.extend(200, 210, "a", 1, 110).leaves_queue(200, "b", 1, 110).leaves_queue(200, "c", 1, 110);
  EXPECT_EQ(judged(s, Check::G7, 900).violations, 0) << "it is of before there were queues";
}

/// `b` releases, and leaves the lock free; `c` leaves by that, and takes it later.
Finding freed(int good_until, int taken) {
  auto s = one_waits(good_until);
  s.offer(400, 410, "b", 1, 120).leaves_queue(400, "c", 1, 120);
  return judged(s.win(taken, taken + 10, "c", 1, 130), Check::G7);
}

TEST(CheckQueueLine, AReleaseToNobodyBesideAGoodEntryIsViolated) {
  EXPECT_EQ(freed(3'000, 450).violations, 1);
  EXPECT_EQ(freed(430, 450).violations, 0) << "it may have been over: nothing else has a date";
}

TEST(CheckQueueLine, InAnotherSecondThanItWasGivenInALockIsOfferedToThoseWhoPoll) {
  auto s = two_wait();
  s.extend(600, 610, "a", 1, 103);
  auto passed = s;
  passed.pass_on(1'000, 1'010, "a", 1, 1'015, "b", 1, 110);
  const auto f = judged(passed, Check::G7, 2'000);
  EXPECT_EQ(f.violations, 1);
  EXPECT_NE(f.why.find("calls that poll had no turn"), std::string::npos) << f.why;
  EXPECT_EQ(judged(passed.fault(500, "clock-jump"), Check::G7, 2'000).violations, 0);
  s.offer(1'000, 1'010, "a", 1, 110).win(1'030, 1'040, "b", 1, 120);
  const auto offered = judged(s, Check::G7, 2'000);
  EXPECT_EQ(offered.verdict, Verdict::holds) << offered.why;
  EXPECT_EQ(offered.counts.at("queue_offers"), 1);
}

TEST(CheckQueueLine, AfterALongHoldingALockIsOfferedToOneOwnerInFour) {
  const auto passed = [](int session, int given) {
    HistoryBuilder s;
    s.start(1, "a").start(2, "b").ask(given, "a", 1).win(given, given + 10, "a", 1, 100);
    s.ask(900, "b", session).refused(900, 910, "b", session);
    s.joins_queue(905, "b", session, 101, 3'000);
    return judged(s.pass_on(1'000, 1'010, "a", 1, 1'015, "b", session, 110), Check::G7, 2'000);
  };
  EXPECT_EQ(passed(3, 750).violations, 1) << "an owner that ends in 3 is offered it";
  EXPECT_EQ(passed(4, 750).violations, 0) << "one that ends in 4 is given it";
  EXPECT_EQ(passed(4, 751).violations, 1) << "the holding was shorter than 250 ms";
}

}  // namespace
}  // namespace leasehold::model
