#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

using Change = void (*)(Event&);

/// The same history, of which each event of this kind is changed.
Finding after(HistoryBuilder story, Check check, Kind kind, Change change) {
  auto history = story.end(9'000);
  for (Event& e : history) {
    if (e.kind == kind) change(e);
  }
  return find(judge(history, {}), check);
}

HistoryBuilder two_attempts() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(12, "b", 1);
  s.refused(12, 22, "b", 1).seeing("a", 1);
  return s;
}

TEST(UniqueLockId, ASecondCommandMayNotWriteTheSame) {
  EXPECT_EQ(judged(good(), Check::unique_lock_id).verdict, Verdict::holds);
  const auto f = after(good(), Check::unique_lock_id, Kind::send, [](Event& e) {
    if (e.verb == "extend") e.lock_id = e.owner + ".1000.1";
  });
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_EQ(f.why, "lock 'lock': extend 3 of a writes the lockId of an earlier command");
}

TEST(DeadlineRule, ItCountsFromTheSendingAndEndsEarlierByTheDrift) {
  EXPECT_EQ(judged(holder(), Check::deadline).verdict, Verdict::holds);
  const auto from_the_reply = [](Event& e) { e.deadline_ns += 10 * kMs; };
  EXPECT_EQ(after(holder(), Check::deadline, Kind::granted, from_the_reply).verdict,
            Verdict::violated);
  const auto drifts = [](Event& e) { e.max_drift_ppm = 500; };  // its clock runs true, and it
  EXPECT_EQ(after(holder(), Check::deadline, Kind::ask, drifts).why,  // does not know that
            "lock 'lock': acquire 1 of a gives a deadline 498000 ns later than a lease, less the "
            "drift, after its sending");
}

TEST(DeadlineRule, AClockThatRunsSlowMakesTheSpanLonger) {
  auto history = holder().end(9'000);
  for (Event& e : history) {
    if (e.kind == Kind::ask) e.max_drift_ppm = 500;
    if (e.kind == Kind::start) e.clock_drift_ppm = -500;
  }
  EXPECT_EQ(find(judge(history, {}), Check::deadline).verdict, Verdict::holds);
}

TEST(DeadlineRule, AnExtensionMayKeepALaterDeadlineAndNoMore) {
  auto s = holder();
  s.extend(300, 310, "a", 1, 110);
  EXPECT_EQ(judged(s, Check::deadline).verdict, Verdict::holds);
  const auto later = [](Event& e) { e.deadline_ns += kMs; };
  EXPECT_EQ(after(s, Check::deadline, Kind::extended, later).verdict, Verdict::violated);
  const auto longer = [](Event& e) { e.deadline_ns += 500 * kMs; };
  const auto f = after(s, Check::deadline, Kind::granted, longer);
  EXPECT_EQ(f.violations, 1) << "only the grant";
}

TEST(DeadlineRule, AWriteThatNobodyAcknowledgedGivesNone) {
  auto history = unanswered(holder().end(9'000), 1);
  EXPECT_EQ(find(judge(history, {}), Check::deadline).why,
            "lock 'lock': acquire 1 of a counts as granted without a reply that acknowledges its "
            "write");
}

TEST(DeadlineRule, APassOnCountsFromTheAttemptThatLeftTheEntry) {
  auto s = two_attempts();
  s.pass_on(300, 310, "a", 1, 320, "b", 1, 120).yes(321, 1'011, "b", 1);
  EXPECT_EQ(judged(s, Check::deadline).verdict, Verdict::holds);
  const auto from_the_notice = [](Event& e) {
    if (e.verb == "pass-on") e.deadline_ns = e.at_ns + 1'000 * kMs;
  };
  EXPECT_EQ(after(s, Check::deadline, Kind::granted, from_the_notice).verdict,
            Verdict::violated);
}

TEST(DeadlineRule, AClockThatStoodStillMeanwhileIsNotAsked) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).pause(12, "a").resume(18, "a").win(10, 20, "a", 1, 100);
  auto history = s.end(9'000);
  for (Event& e : history) {
    if (e.kind == Kind::pause || e.kind == Kind::resume) e.suspended = true;
    if (e.kind == Kind::granted) e.deadline_ns += 6 * kMs;
  }
  const auto f = find(judge(history, {}), Check::deadline);
  EXPECT_EQ(f.violations, 0);
  EXPECT_EQ(f.checked, 0);
}

TEST(PresumedDeadRule, OnlyAWholeLeaseAfterTheFirstSight) {
  const auto with = [](int seen, int sent) {
    auto s = two_attempts();
    s.crash(30, "a").refused(seen, seen + 5, "b", 1).seeing("a", 1);
    s.presuming("a", 1).win(sent, sent + 5, "b", 1, 120);
    return judged(s, Check::presumed_dead);
  };
  EXPECT_EQ(with(500, 1'022).verdict, Verdict::holds);
  EXPECT_EQ(with(500, 1'021).verdict, Verdict::violated) << "22 + 1,000";
  EXPECT_EQ(with(500, 1'021).events.size(), 3u) << "its write, the sight, the attempt";
}

TEST(PresumedDeadRule, PresumingAnUnseenLockIdOrIgnoringTheDriftIsTooEarly) {
  auto s = two_attempts();
  s.extend(300, 310, "a", 1, 110).crash(320, "a");
  s.presuming("a", 1).win(1'400, 1'410, "b", 1, 120);
  EXPECT_EQ(judged(s, Check::presumed_dead).why,
            "lock 'lock': acquire 4 of b presumes a holder dead that it has never seen");
  auto t = two_attempts();
  t.crash(30, "a").presuming("a", 1).win(1'022, 1'030, "b", 1, 120);
  const auto drifts = [](Event& e) { e.max_drift_ppm = 500; };
  EXPECT_EQ(after(t, Check::presumed_dead, Kind::ask, drifts).verdict, Verdict::violated);
}

TEST(EndedOwnerRule, ItAsksForNothingAfterItsDelete) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).refused(10, 20, "a", 1).clean_up(30, 40, "a", 1, 0);
  EXPECT_EQ(judged(s, Check::ended_owner).verdict, Verdict::holds);
  s.refused(50, 60, "a", 1);
  EXPECT_EQ(judged(s, Check::ended_owner).why,
            "lock 'lock': acquire 3 of a is of an owner whose delete was sent before");
}

TEST(EndedOwnerRule, ItHoldsNothingAfterItsHandOver) {
  auto s = two_callers();
  s.exact().hand_over(100, 110, "a", 1, 2, 120).yes(21, 100, "a", 1).yes(111, 120, "a", 2);
  EXPECT_EQ(judged(s, Check::ended_owner).verdict, Verdict::holds);
  s.yes(21, 101, "a", 1);
  EXPECT_EQ(judged(s, Check::ended_owner).why,
            "lock 'lock' of a (session 1) is held by an owner whose hand-over was sent before");
}

TEST(Monitors, AreNotAskedOfThePublishedLocks) {
  auto history = good().end(9'000);
  history.front().lock = "distributed-lock";
  for (const auto& f : judge(history, {})) EXPECT_NE(f.check, Check::deadline);
}

}  // namespace
}  // namespace leasehold::model
