#include "model/refinement/refinement.hpp"

#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

Finding refined(const History& history) { return check_refinement(digest(history)); }
Finding refined(HistoryBuilder story) { return refined(story.end(9'000)); }

/// The last event of this kind, changed.
template <typename Change>
History with_last(HistoryBuilder story, Kind kind, const Change& change) {
  auto history = story.end(9'000);
  const auto last = std::find_if(history.rbegin(), history.rend(),
                                 [kind](const Event& e) { return e.kind == kind; });
  change(*last);
  return history;
}

HistoryBuilder held_by_a() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(12, "b", 1);
  return s;
}

TEST(Refinement, AGoodHistoryIsOneOfTheAbstractLock) {
  const auto f = refined(good());
  EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
  EXPECT_GT(f.checked, 20);
  EXPECT_EQ(f.counts.at("hidden_steps"), 8) << "each version is one";
}

TEST(Refinement, AWriteThatIsAcknowledgedIsInTheOplog) {
  auto history = held_by_a().end(9'000);
  std::erase_if(history, [](const Event& e) { return e.kind == Kind::put; });
  EXPECT_EQ(refined(history).why,
            "lock 'lock': acquire 1 of a is answered: its write is in no oplog");
}

/// Another lock has many more versions: a place in its line is none in this one's.
TEST(Refinement, AReplyOrAGrantThatNamesAnotherLocksWriteIsAccused) {
  auto story = held_by_a();
  for (int i = 0; i < 40; ++i) story.extend(30 + i, 31 + i, "a", 1, 101 + i);
  auto history = story.release(80, 90, "a", 1, 150).end(9'000);
  for (Event& e : history) {
    if (e.kind == Kind::gone || (e.kind == Kind::put && e.order > 100)) e.name = "another";
  }
  EXPECT_EQ(refined(history).verdict, Verdict::violated);
  const auto granted = std::ranges::find_if(
      history, [](const Event& e) { return e.kind == Kind::granted; });
  const auto last_put = std::find_if(history.rbegin(), history.rend(),
                                     [](const Event& e) { return e.kind == Kind::put; });
  granted->lock_id = last_put->lock_id;
  EXPECT_EQ(refined(history).verdict, Verdict::violated);
}

TEST(Refinement, ALockIsTakenFromAnotherOnlyWhenALeaseHasRunAndTheDatesSaySo) {
  const auto with = [](int at) {
    auto s = held_by_a();
    return refined(s.crash(30, "a").win(at, at + 1, "b", 1, 120)).why;
  };
  EXPECT_EQ(with(1'510), "");
  EXPECT_EQ(with(1'509),
            "lock 'lock': version 2 of its document cannot have been written: it takes a lock of "
            "another that is neither given, observed nor expired");
}

TEST(Refinement, AnObservedHolderHasHadAWholeLease) {
  const auto with = [](int at) {
    auto s = held_by_a();
    s.refused(12, 22, "b", 1).seeing("a", 1).presuming("a", 1);
    return refined(s.win(at, at + 1, "b", 1, 120)).verdict;
  };
  EXPECT_EQ(with(1'010), Verdict::holds);
  EXPECT_EQ(with(1'009), Verdict::violated);
}

TEST(Refinement, AnExtensionAndAHandOverFindTheirOwnersDocument) {
  auto s = held_by_a();
  s.gone(1'600, 110).extend(1'700, 1'710, "a", 1, 120);
  EXPECT_EQ(refined(s).why,
            "lock 'lock': version 3 of its document cannot have been written: it extends a lock "
            "that is not its owner's");
  auto t = two_callers();
  EXPECT_EQ(refined(t.hand_over(100, 110, "a", 1, 2, 120)).verdict, Verdict::holds);
  auto u = two_callers();
  u.gone(1'600, 110).hand_over(1'700, 1'710, "a", 1, 2, 120);
  EXPECT_EQ(refined(u).verdict, Verdict::violated);
}

TEST(Refinement, ADocumentGoesByItsHoldersRemovalOrWhenItsLeaseIsOver) {
  EXPECT_EQ(refined(held_by_a().gone(1'010, 110)).verdict, Verdict::holds);
  EXPECT_EQ(refined(held_by_a().gone(1'009, 110)).why,
            "lock 'lock': version 2 of its document cannot have been written: no removal of its "
            "holder can have done it, and its lease has not run out");
  auto s = held_by_a();
  s.ask(13, "b", 2).clean_up(100, 110, "b", 1, 110);
  EXPECT_EQ(refined(s).why,
            "lock 'lock': version 2 of its document cannot have been written: a removal by "
            "another process says that it did it");
}

/// Its owner's first document goes, an attempt is executed late, and that goes as well.
History two_deletions(int removals) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1);
  s.win_too_late(10, 20, "a", 1, 100).win_too_late(30, 40, "a", 1, 120);
  for (int i = 0; i < removals; ++i) s.clean_up(50 + i, 60 + i, "a", 1, 0);
  auto history = s.gone(100, 110).gone(101, 130).end(9'000);
  for (Event& e : history) {
    if (e.kind == Kind::put && e.order == 120) e.at_ns = 100 * kMs;
    if (e.kind == Kind::reply && e.command > 1) e.outcome = "unknown";
  }
  sort_by_time(history);
  return history;
}

TEST(Refinement, ARemovalThatNobodyAnsweredIsExecutedOnce) {
  EXPECT_EQ(refined(two_deletions(2)).verdict, Verdict::holds) << refined(two_deletions(2)).why;
  EXPECT_EQ(refined(two_deletions(1)).why,
            "lock 'lock': version 4 of its document cannot have been written: a removal is "
            "executed once");
}

TEST(Refinement, ARefusalShowsWhatStoodThereMeanwhile) {
  auto s = held_by_a();
  s.refused(12, 22, "b", 1).seeing("a", 1).release(100, 110, "a", 1, 110);
  s.refused(99, 115, "b", 1).seeing("a", 1);
  EXPECT_EQ(refined(s).verdict, Verdict::holds) << "both were under way";
  s.refused(120, 130, "b", 1).seeing("a", 1);
  EXPECT_EQ(refined(s).why,
            "lock 'lock': acquire 5 of b is answered: it shows what was over when it was sent");
}

TEST(Refinement, AnOldPrimaryShowsWhatIsOverOnlyWhileSomethingIsDisturbed) {
  const auto with = [](bool disturbed) {
    auto s = held_by_a();
    s.refused(12, 22, "b", 1).seeing("a", 1).release(100, 110, "a", 1, 110);
    if (disturbed) s.fault(50, "two-primaries");
    s.refused(120, 130, "b", 1).seeing("a", 1);
    return refined(with_last(s, Kind::reply, [](Event& e) { e.order = 105; }));
  };
  EXPECT_EQ(with(true).verdict, Verdict::holds);
  EXPECT_EQ(with(true).counts.at("old_primaries"), 1);
  EXPECT_EQ(with(false).verdict, Verdict::violated);
}

TEST(Refinement, AGrantHasTheTimeOfItsWriteAndAnAnswer) {
  const auto later = [](Event& e) { ++e.token; };
  EXPECT_EQ(refined(with_last(held_by_a(), Kind::granted, later)).why,
            "lock 'lock': session 1 of a is granted: its token is not the time of its write");
  const auto unanswered = [](Event& e) { e.outcome = "unknown"; };
  EXPECT_EQ(refined(with_last(held_by_a(), Kind::reply, unanswered)).why,
            "lock 'lock': session 1 of a is granted: no reply says that it won");
}

TEST(Refinement, AnExtensionIsAcknowledged) {
  auto s = held_by_a();
  s.extend(300, 310, "a", 1, 110);
  EXPECT_EQ(refined(s).verdict, Verdict::holds);
  EXPECT_EQ(refined(with_last(s, Kind::reply, [](Event& e) { e.matched = 0; })).verdict,
            Verdict::violated);
}

TEST(Refinement, ACommandThatWasNotExecutedWritesNothing) {
  auto s = held_by_a();
  s.release(100, 110, "a", 1, 110).win_too_late(120, 130, "b", 1, 120);
  EXPECT_EQ(refined(s).verdict, Verdict::holds);
  const auto refusal = [](Event& e) { e.outcome = "failed_before", e.matched = 0; };
  EXPECT_EQ(refined(with_last(s, Kind::reply, refusal)).why,
            "lock 'lock': version 3 of its document cannot have been written: its command was "
            "answered as not executed");
}

TEST(Refinement, AReleasePassesTheLockOnToWhoStandsInTheQueue) {
  auto s = held_by_a();
  s.refused(12, 22, "b", 1).seeing("a", 1).joins_queue(15, "b", 1, 101, 9'000);
  s.pass_on(300, 310, "a", 1, 320, "b", 1, 120);
  EXPECT_EQ(refined(s).verdict, Verdict::holds) << refined(s).why;
  auto t = held_by_a();
  t.refused(12, 22, "b", 1).seeing("a", 1).joins_queue(15, "b", 1, 101, 9'000);
  t.leaves_queue(200, "b", 1, 110).pass_on(300, 310, "a", 1, 320, "b", 1, 120);
  EXPECT_EQ(refined(t).verdict, Verdict::violated) << "it had left";
}

TEST(Refinement, ALockIsLostAndNotReleasedOnlyIfItsDocumentWasNotThere) {
  auto s = held_by_a();
  EXPECT_EQ(refined(s.release(100, 110, "a", 1, 0)).why,
            "lock 'lock': session 1 of a is released as not_owner: the document was its owner's "
            "all the time");
  auto t = held_by_a();
  t.extend(300, 310, "a", 1, 110).extend(600, 610, "a", 1, 120).lose(650, "a", 1);
  const auto not_there = [](Event& e) { e.outcome = "not_owner"; };
  EXPECT_EQ(refined(t).verdict, Verdict::holds) << "its deadline is its own affair";
  EXPECT_EQ(refined(with_last(t, Kind::lost, not_there)).verdict, Verdict::violated);
}

/// A read of the primary shows also what is rolled back later.
TEST(Refinement, ALockIsLostByAForcedReleaseThatIsRolledBack) {
  const auto not_there = [](Event& e) { e.outcome = "not_owner"; };
  const auto verdict = [&](const std::string& victim, int forced) {
    auto s = held_by_a();
    s.extend(600, 610, "a", 1, 120).fault(630, "step-up").lose(650, "a", 1);
    s.fault(forced, "force-release");
    auto history = with_last(s, Kind::lost, not_there);
    for (Event& e : history) {
      if (e.fault == "force-release") e.victim = victim;
    }
    return refined(history).verdict;
  };
  EXPECT_EQ(verdict("lock", 620), Verdict::holds);
  EXPECT_EQ(verdict("lock", 651), Verdict::violated) << "only then";
  EXPECT_EQ(verdict("another", 620), Verdict::violated);
}

TEST(Refinement, ALeftOwnerSendsNothingAndNoLockIdIsWrittenTwice) {
  auto s = held_by_a();
  s.release(100, 110, "a", 1, 110).refused(200, 210, "a", 1);
  EXPECT_EQ(refined(s).why,
            "lock 'lock': acquire 3 of a is sent: its owner has left the lock before");
  auto t = held_by_a();
  t.extend(300, 310, "a", 1, 110);
  auto history = t.end(9'000);
  for (Event& e : history) {
    if (e.verb == "extend") e.lock_id = e.owner + ".1000.1";
  }
  EXPECT_EQ(refined(history).verdict, Verdict::violated);
}

}  // namespace
}  // namespace leasehold::model
