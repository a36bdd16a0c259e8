#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model::acceptor_test {
namespace {

using Change = void (*)(Event&);

HistoryBuilder held_by_a() {
  auto s = a_holds().ask(12, "b", 1);
  return s;
}

HistoryBuilder two_attempts() {
  auto s = held_by_a();
  s.refused(12, 22, "b", 1).seeing("a", 1);
  return s;
}

HistoryBuilder extended_once() {
  auto s = held_by_a();
  s.extend(300, 310, "a", 1, 110);
  return s;
}

/// The same history, of which each event of this kind is changed.
Finding after(HistoryBuilder story, Check check, Kind kind, Change change) {
  auto history = story.end(9'000);
  for (Event& e : history) {
    if (e.kind == kind) change(e);
  }
  return judged(history, check);
}

/// The same for the last one.
template <typename To>
History with_last(HistoryBuilder story, Kind kind, const To& change) {
  auto history = story.end(9'000);
  const auto last = std::find_if(history.rbegin(), history.rend(),
                                 [kind](const Event& e) { return e.kind == kind; });
  change(*last);
  return history;
}

template <typename To>
Finding with_last_put(const HistoryBuilder& story, Check check, const To& change) {
  return judged(with_last(story, Kind::put, change), check);
}

// The rules

TEST(DeadlineRule, TheLeaseEndsEarlierByTheDriftUnlessTheClockRunsSlow) {
  const auto with = [](std::int64_t rate_ppm) {
    auto history = holder().end(9'000);
    for (Event& e : history) {
      if (e.kind == Kind::ask) e.max_drift_ppm = 500;
      if (e.kind == Kind::start) e.clock_drift_ppm = rate_ppm;
    }
    return judged(history, Check::deadline).why;
  };
  EXPECT_EQ(with(0),  // its clock runs true, and it does not know that
            "lock 'lock': acquire 1 of a gives a deadline 498000 ns later than a lease, less the "
            "drift, after its sending");
  EXPECT_EQ(with(-500), "");
}

TEST(DeadlineRule, AnExtensionMayKeepALaterDeadlineAndNoMore) {
  const auto s = extended_once();
  EXPECT_EQ(judged(s, Check::deadline).verdict, Verdict::holds);
  const auto later = [](Event& e) { e.deadline_ns += kMs; };
  EXPECT_EQ(after(s, Check::deadline, Kind::extended, later).verdict, Verdict::violated);
  const auto longer = [](Event& e) { e.deadline_ns += 500 * kMs; };
  const auto f = after(s, Check::deadline, Kind::granted, longer);
  EXPECT_EQ(f.violations, 1) << "only the grant";
}

TEST(DeadlineRule, AWriteThatNobodyAcknowledgedGivesNone) {
  auto history = unanswered(holder().end(9'000), 1);
  EXPECT_EQ(judged(history, Check::deadline).why,
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
  const auto suspends = [](Event& e) { e.suspended = true; };
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).pause(12, "a").with(suspends).resume(18, "a").with(suspends);
  s.win(10, 20, "a", 1, 100).before(1).deadline_ns += 6 * kMs;
  const auto f = judged(s.end(9'000), Check::deadline);
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

TEST(EndedOwnerRule, ItHoldsNothingAfterItsHandOver) {
  auto s = two_callers();
  s.exact().hand_over(100, 110, "a", 1, 2, 120).yes(21, 100, "a", 1).yes(111, 120, "a", 2);
  EXPECT_EQ(judged(s, Check::ended_owner).verdict, Verdict::holds);
  s.yes(21, 101, "a", 1);
  EXPECT_EQ(judged(s, Check::ended_owner).why,
            "lock 'lock' of a (session 1) is held by an owner whose hand-over was sent before");
}

TEST(CompareAndSetRule, AnothersLockIsTakenWhenItsVeryLockIdIsTheOneObserved) {
  const auto with = [](bool extended) {
    auto history = two_attempts().presuming("a", 1).win(1'100, 1'110, "b", 1, 120).end(9'000);
    // What was seen before the extension, which nobody saw, is not what stands there.
    for (Event& e : history) {
      if (extended && e.kind == Kind::put && e.order == 100) e.lock_id += "0";
    }
    return judged(history, Check::compare_and_set).verdict;
  };
  EXPECT_EQ(with(false), Verdict::holds);
  EXPECT_EQ(with(true), Verdict::violated);
}

TEST(CompareAndSetRule, AnExtensionFindsItsOwn) {
  const auto gone = held_by_a().gone(200, 110).extend(300, 310, "a", 1, 120);
  EXPECT_EQ(judged(gone, Check::compare_and_set).why,
            "lock 'lock': extend 2 of a writes a lock where there is none");
  const auto taken = held_by_a().win(1'600, 1'610, "b", 1, 110).extend(1'700, 1'710, "a", 1, 120);
  EXPECT_EQ(judged(taken, Check::compare_and_set).violations, 1);
}

TEST(ExpiresAtRule, NoOwnWriteLowersItOrChangesAcquiredAt) {
  const auto s = extended_once();
  const auto sooner = [&](std::int64_t by_ms) {
    return with_last_put(s, Check::expires_at, [by_ms](Event& e) { e.expires_at_ms -= by_ms; });
  };
  EXPECT_EQ(sooner(0).verdict, Verdict::holds);
  EXPECT_EQ(sooner(290).verdict, Verdict::holds);
  EXPECT_EQ(sooner(291).why,
            "lock 'lock': extend 2 of a lowers expiresAt of its own lock by 1 ms");
  EXPECT_EQ(with_last_put(s, Check::expires_at, [](Event& e) { ++e.acquired_at_ms; }).verdict,
            Verdict::violated);
}

TEST(ExpiresAtRule, AFreeDocumentThatMayNameWhoIsNextIsNotAsked) {
  auto s = held_by_a();
  s.refused(12, 22, "b", 1).pass_on(300, 310, "a", 1, 320, "b", 1, 120).gone(400, 125);
  s.ask(410, "b", 2).win(420, 430, "b", 2, 130);
  const auto earlier = [](Event& e) { e.acquired_at_ms -= 100; };
  EXPECT_EQ(with_last_put(s, Check::expires_at, earlier).verdict, Verdict::holds);
}

TEST(StoredTokenRule, ItRisesWithEachGrantAndIsBelowItsOwn) {
  const auto with = [](const HistoryBuilder& story, std::int64_t token) {
    return with_last_put(story, Check::stored_token,
                         [token](Event& e) { e.stored_token = token; })
        .verdict;
  };
  EXPECT_EQ(with(extended_once(), 99), Verdict::holds) << "an extension may keep it";
  EXPECT_EQ(with(extended_once(), 98), Verdict::violated);
  EXPECT_EQ(with(extended_once(), 110), Verdict::violated) << "its own is the order of its write";
  auto t = held_by_a();
  t.crash(30, "a").win(1'600, 1'610, "b", 1, 120);
  EXPECT_EQ(with(t, 100), Verdict::holds);
  EXPECT_EQ(with(t, 99), Verdict::violated);
}

TEST(Monitors, AreUnknownOfAHistoryThatHasNoDatesAndNotAskedOfThePublishedLocks) {
  auto history = good().end(9'000);
  for (Event& e : history) e.acquired_at_ms = e.expires_at_ms = e.stored_token = 0;
  for (const auto rule : {Check::presumed_dead, Check::compare_and_set,
                          Check::expires_at, Check::stored_token}) {
    const auto f = judged(history, rule);
    EXPECT_EQ(f.verdict, Verdict::unknown) << to_string(rule);
    EXPECT_EQ(f.why,
              "the history does not say what stands in its documents: an older release wrote it");
  }
  history.front().lock = "distributed-lock";
  for (const auto& f : judge(digest(history))) EXPECT_NE(f.check, Check::deadline);
}

// The versions

Finding refined(const History& history) { return accept(digest(history)).steps.back(); }
Finding refined(HistoryBuilder story) { return refined(story.end(9'000)); }

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
  const auto granted = std::ranges::find(history, Kind::granted, &Event::kind);
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
    auto s = two_attempts();
    return refined(s.presuming("a", 1).win(at, at + 1, "b", 1, 120)).verdict;
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
  EXPECT_EQ(refined(two_callers().hand_over(100, 110, "a", 1, 2, 120)).verdict, Verdict::holds);
  auto u = two_callers();
  u.gone(1'600, 110).hand_over(1'700, 1'710, "a", 1, 2, 120);
  EXPECT_EQ(refined(u).verdict, Verdict::violated);
}

TEST(Refinement, ADocumentGoesByItsHoldersRemovalOrWhenItsLeaseIsOver) {
  EXPECT_EQ(refined(held_by_a().gone(1'010, 110)).verdict, Verdict::holds);
  EXPECT_EQ(refined(held_by_a().gone(1'009, 110)).why,
            "lock 'lock': version 2 of its document cannot have been written: no removal of its "
            "holder can have done it, and its lease has not run out");
  EXPECT_EQ(refined(held_by_a().ask(13, "b", 2).clean_up(100, 110, "b", 1, 110)).why,
            "lock 'lock': version 2 of its document cannot have been written: a removal by "
            "another process says that it did it");
}

/// Its owner's first document goes, an attempt is executed late, and that goes as well.
History two_deletions(int removals) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1);
  s.win_too_late(10, 20, "a", 1, 100).win_too_late(30, 40, "a", 1, 120).unanswered();
  s.before(2).at_ns = 100 * kMs;
  for (int i = 0; i < removals; ++i) s.clean_up(50 + i, 60 + i, "a", 1, 0).unanswered();
  return s.gone(100, 110).gone(101, 130).end(9'000);
}

TEST(Refinement, ARemovalThatNobodyAnsweredIsExecutedOnce) {
  EXPECT_EQ(refined(two_deletions(2)).why, "");
  EXPECT_EQ(refined(two_deletions(1)).why,
            "lock 'lock': version 4 of its document cannot have been written: a removal is "
            "executed once");
}

TEST(Refinement, ARefusalShowsWhatStoodThereMeanwhile) {
  auto s = two_attempts();
  s.release(100, 110, "a", 1, 110).refused(99, 115, "b", 1).seeing("a", 1);
  EXPECT_EQ(refined(s).verdict, Verdict::holds) << "both were under way";
  s.refused(120, 130, "b", 1).seeing("a", 1);
  EXPECT_EQ(refined(s).why,
            "lock 'lock': acquire 5 of b is answered: it shows what was over when it was sent");
}

TEST(Refinement, AnOldPrimaryShowsWhatIsOverOnlyWhileSomethingIsDisturbed) {
  const auto with = [](const std::string& fault, int order = 105) {
    auto s = two_attempts();
    s.release(100, 110, "a", 1, 110);
    if (!fault.empty()) s.fault(50, fault);
    s.refused(120, 130, "b", 1).seeing("a", 1);
    return refined(with_last(s, Kind::reply, [order](Event& e) { e.order = order; }));
  };
  EXPECT_EQ(with("two-primaries").verdict, Verdict::holds);
  EXPECT_EQ(with("two-primaries").counts.at("old_primaries"), 1);
  EXPECT_EQ(with("").verdict, Verdict::violated);
  EXPECT_EQ(with("two-primaries", 125).verdict, Verdict::violated);
  EXPECT_EQ(with("move", 125).verdict, Verdict::holds) << "a router has the time of a shard";
}

TEST(Refinement, AGrantHasTheTimeOfItsWriteAndAnAnswerAndAnExtensionIsAcknowledged) {
  const auto later = [](Event& e) { ++e.token; };
  EXPECT_EQ(refined(with_last(held_by_a(), Kind::granted, later)).why,
            "lock 'lock': session 1 of a is granted: its token is not the time of its write");
  const auto unknown = [](Event& e) { e.outcome = "unknown"; };
  EXPECT_EQ(refined(with_last(held_by_a(), Kind::reply, unknown)).why,
            "lock 'lock': session 1 of a is granted: no reply says that it won");
  EXPECT_EQ(refined(extended_once()).verdict, Verdict::holds);
  const auto in_vain = [](Event& e) { e.matched = 0; };
  EXPECT_EQ(refined(with_last(extended_once(), Kind::reply, in_vain)).verdict, Verdict::violated);
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
  const auto with = [](bool left) {
    auto s = two_attempts();
    s.joins_queue(15, "b", 1, 101, 9'000);
    if (left) s.leaves_queue(200, "b", 1, 110);
    return refined(s.pass_on(300, 310, "a", 1, 320, "b", 1, 120));
  };
  EXPECT_EQ(with(false).why, "");
  EXPECT_EQ(with(true).verdict, Verdict::violated) << "it had left";
}

/// A read of the primary shows also what is rolled back later: a forced release.
TEST(Refinement, ALockIsLostAndNotReleasedOnlyIfItsDocumentWasNotThere) {
  EXPECT_EQ(refined(held_by_a().release(100, 110, "a", 1, 0)).why,
            "lock 'lock': session 1 of a is released as not_owner: the document was its owner's "
            "all the time");
  auto t = extended_once();
  t.extend(600, 610, "a", 1, 120).fault(630, "step-up").lose(650, "a", 1);
  EXPECT_EQ(refined(t).verdict, Verdict::holds) << "its deadline is its own affair";
  const auto not_there = [](Event& e) { e.outcome = "not_owner"; };
  EXPECT_EQ(refined(with_last(t, Kind::lost, not_there)).verdict, Verdict::violated);
  const auto forced = [&](const std::string& victim, int at) {
    auto s = t;
    s.fault(at, "force-release", "", victim);
    return refined(with_last(s, Kind::lost, not_there)).verdict;
  };
  EXPECT_EQ(forced("lock", 620), Verdict::holds);
  EXPECT_EQ(forced("lock", 651), Verdict::violated) << "only then";
  EXPECT_EQ(forced("another", 620), Verdict::violated);
}

TEST(Refinement, ALeftOwnerSendsNothingAndNoLockIdIsWrittenTwice) {
  EXPECT_EQ(refined(held_by_a().release(100, 110, "a", 1, 110).refused(200, 210, "a", 1)).why,
            "lock 'lock': acquire 3 of a is sent: its owner has left the lock before");
  auto history = extended_once().end(9'000);
  for (Event& e : history) {
    if (e.verb == "extend") e.lock_id = e.owner + ".1000.1";
  }
  EXPECT_EQ(refined(history).verdict, Verdict::violated);
}

// The arrows

/// The way of a story, and why it is no path.
struct Path {
  explicit Path(HistoryBuilder story, const Diagrams& diagrams = {}) {
    const auto history = story.end(9'000);
    auto accepted = accept(digest(history), diagrams);
    taken = std::move(accepted.taken);
    finding = std::move(accepted.steps.front());
  }
  /// How often arrows of this label were taken.
  [[nodiscard]] std::int64_t count(const TransitionTable& table, std::string_view label) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < table.arrows().size(); ++i) {
      if (table.arrows()[i].input == label) sum += taken.at(std::string(table.name())).at(i);
    }
    return sum;
  }
  ArrowCounts taken;
  Finding finding;
};

TEST(Conformance, AWholeStoryIsAPathOfTheDiagrams) {
  const Path path(good());
  EXPECT_EQ(path.finding.why, "");
  EXPECT_EQ(never_taken(path.taken),
            (std::vector<std::string>{"lifecycle: Extending --Extension Failed--> Lost",
                                      "document: Extending --Failure--> Expired",
                                      "flowchart: M --No--> O", "flowchart: O --then--> P"}));
}

TEST(Conformance, AHandOverAndAPassOnArePathsOfTheDiagrams) {
  EXPECT_EQ(Path(two_callers().hand_over(300, 310, "a", 1, 2, 110).release(400, 410, "a", 2, 120))
                .finding.why,
            "");
  const Path path(two_attempts().pass_on(300, 310, "a", 1, 315, "b", 1, 110));
  EXPECT_EQ(path.finding.why, "");
  EXPECT_EQ(path.count(lifecycle(), "Lock Passed On"), 1);
  EXPECT_EQ(path.count(flowchart(), "Passed On"), 1);
  EXPECT_EQ(path.count(document_states(), "Handed Over"), 1);
}

TEST(Conformance, AWinWithoutAUsableTimeMayBeGrantedByTheNewsOfItOrEndTheCall) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1);
  auto t = s;
  s.win_too_late(10, 20, "a", 1, 100).granted_by_news(30, "a", 1, 100);
  const Path by_news(s.release(400, 410, "a", 1, 120));
  EXPECT_EQ(by_news.finding.why, "");
  EXPECT_EQ(by_news.count(lifecycle(), "Lock Passed On"), 1);
  const Path ended(t.win_too_late(10, 1'020, "a", 1, 100).ended(1'020, "a", 1, "late"));
  EXPECT_EQ(ended.finding.why, "");
  EXPECT_EQ(ended.count(flowchart(), "Won Too Late"), 1);
}

TEST(Conformance, ALockThatIsTakenInMidLeaseIsNoPath) {
  const auto taken = [](int at) {
    return Path(held_by_a().win(at, at + 10, "b", 1, 110).lose(1'010, "a", 1)).finding.why;
  };
  EXPECT_EQ(taken(1'010), "");
  EXPECT_EQ(taken(500), "document: no arrow Active --Other Process Acquires-->");
  EXPECT_EQ(Path(held_by_a().gone(500, 110).crash(600, "a")).finding.why,
            "document: no arrow Active --TTL Cleanup-->");
}

TEST(Conformance, AStepThatIsNoArrowIsRefusedByName) {
  const auto f =
      Path(held_by_a().lose(1'010, "a", 1).extend(1'020, 1'030, "a", 1, 110)).finding;
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_EQ(f.why, "lifecycle: no arrow Lost --Background Extension Task-->");
  EXPECT_EQ(f.events.size(), 1u);
}

TEST(Conformance, EachArrowThatTheStoryTakesIsMissedByNameWhenItIsTakenOut) {
  const Path whole(good());
  int missed = 0;
  for (const auto* table : all_tables()) {
    for (std::size_t i = 0; i < table->arrows().size(); ++i) {
      if (whole.taken.at(std::string(table->name()))[i] == 0) continue;
      auto arrows = table->arrows();
      const auto out = arrows[i];
      arrows.erase(arrows.begin() + static_cast<std::ptrdiff_t>(i));
      const TransitionTable copy(table->name(), table->header(), arrows);
      const auto without = [&](const TransitionTable& one) -> const TransitionTable& {
        return &one == table ? copy : one;
      };
      const auto f = Path(good(), {without(lifecycle()), without(document_states()),
                                         without(flowchart())})
                         .finding;
      EXPECT_EQ(f.verdict, Verdict::violated) << out.name();
      const auto name = std::string(out.from) + " --" + std::string(out.input) + "-->";
      EXPECT_NE(f.why.find(name), std::string::npos) << f.why << " / " << name;
      ++missed;
    }
  }
  EXPECT_GE(missed, 30);
}

}  // namespace
}  // namespace leasehold::model::acceptor_test
