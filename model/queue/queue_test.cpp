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

TEST(CheckQueueLine, AProcessThatNeverQueuedHasNoDuties) {
  auto s = two_wait();
  s.extend(200, 210, "a", 1, 110).leaves_queue(200, "b", 1, 110).leaves_queue(200, "c", 1, 110);
  EXPECT_EQ(judged(s, Check::G7, 900).violations, 0) << "it is of before there were queues";
}

/// `b` releases, and leaves the lock free; `c` leaves by that, and takes it later.
Finding freed(int good_until, int taken) {
  auto s = two_wait(good_until).pass_on(300, 310, "a", 1, 315, "b", 1, 110);
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
    EXPECT_EQ(judged(history, Check::form).verdict, Verdict::unknown) << i;
  }
}

/// `a` holds. `b` is queued, and reads its stream from 50 on; a command of it takes 10.
HistoryBuilder reads_news() {
  return b_waits().exact().reads(41, "b").hears(50, "b");
}

TEST(CheckQueueNews, AnAttemptCountsAsAReactionToTheEvent) {
  auto s = reads_news();
  s.pass_on(300, 310, "a", 1, -1, "b", 1, 110).win(325, 500, "b", 1, 120);
  EXPECT_EQ(judged(s, Check::G7).violations, 0);
}

TEST(CheckQueueNews, ADeleteThatWaitsForAWorkerIsGivenUpTwoLeasesAfterTheEvent) {
  const auto with = [](int busy_until) {
    auto s = reads_news();
    s.busy(150, busy_until, "b").ended(200, "b", 1, "cancelled").fault(250, "step-up");
    s.pass_on(600, 610, "a", 1, -1, "b", 1, 110).hears(620, "b", 110);
    return judged(s.look(2'900, 2'910, "b"), Check::G7);
  };
  const auto f = with(2'700);
  EXPECT_EQ(f.violations, 0) << f.why;
  EXPECT_EQ(f.counts.at("given_back"), 1);
  EXPECT_GT(with(2'500).violations, 0) << "a worker was free before";
}

/// The queue granted the lock to the call, which gave it back because too little of it was left.
TEST(CheckQueueNews, ADeleteUnderWayCountsAsLeavingTheQueue) {
  auto s = reads_news();
  s.pass_on(150, 160, "a", 1, -1, "b", 1, 110).clean_up(190, 210, "b", 1, 160);
  s.ended(200, "b", 1, "timed out");
  const auto f = judged(s, Check::G7);
  EXPECT_EQ(f.violations, 0) << f.why;
  EXPECT_EQ(f.counts.at("queue_left"), 1);
}

/// As a call does that is notified of a change under which its owner may no longer be used.
TEST(CheckQueueNews, AWaiterThatIsLeavingMayStopReading) {
  const auto with = [](int leaves) {
    auto s = reads_news();
    s.stops_reading(200, "b").clean_up(leaves, leaves + 5, "b", 1, 0);
    s.leaves_queue(leaves + 3, "b", 1, 110);
    s.ended(300, "b", 1, "cancelled").clean_up(300, 305, "b", 1, 0);
    return judged(s, Check::G7);
  };
  EXPECT_EQ(with(200).violations, 0) << with(200).why;
  const auto f = with(201);
  EXPECT_EQ(f.violations, 1) << f.why;
  EXPECT_NE(f.why.find("b did not read on in its stream"), std::string::npos) << f.why;
}

/// The lease of the grant began with the attempt that left the entry, at 30. The record shows late
/// that the entry was served, and the delete waits for a worker.
TEST(CheckQueueNews, AWaiterWhoseLeaseIsOverMayStopReading) {
  const auto with = [](int stops, int lease, int longest_holding) {
    auto s = reads_news();
    s.stops_reading(stops, "b", 110).pass_on(660, 665, "a", 1, -1, "b", 1, 110);
    s.clean_up(670, 680, "b", 1, 120).ended(690, "b", 1, "timed out");
    auto history = s.end(2'000);
    for (Event& e : history) {
      if (e.kind != Kind::ask || e.process != "b") continue;
      e.expiry_ms = lease;
      e.max_holding_ms = longest_holding;
    }
    return judged(history, Check::G7);
  };
  EXPECT_EQ(with(630, 600, 0).violations, 0) << with(630, 600, 0).why;
  const auto f = with(629, 600, 0);
  EXPECT_EQ(f.violations, 1) << f.why;
  EXPECT_NE(f.why.find("b did not read on in its stream"), std::string::npos) << f.why;
  EXPECT_EQ(with(630, 1'000, 600).violations, 0) << "its longest holding is over";
  EXPECT_EQ(with(630, 1'000, 601).violations, 1);
}

}  // namespace
}  // namespace leasehold::model
