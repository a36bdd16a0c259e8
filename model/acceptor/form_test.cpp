#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckForm, AHandOverByWhoStillHoldsIsRefused) {
  auto s = two_callers();
  s.hand_over(300, 310, "a", 1, 2, 110);
  auto history = s.end(9'000);
  std::erase_if(history,
                [](const Event& e) { return e.kind == Kind::release || e.kind == Kind::released; });
  const auto findings = judge(digest(history));
  EXPECT_EQ(find(findings, Check::form).verdict, Verdict::holds);
  const auto f = find(findings, Check::grounded);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_EQ(f.why, "a: a hand-over by a handle that still holds");
}

TEST(CheckForm, AFieldThatItsKindHasNotIsNamed) {
  auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
  history[1].token = 5;
  EXPECT_EQ(judged(history, Check::form).why, "start has no field 'token'");
}

/// Only the deletions of a batch, of several locks, share one time.
TEST(CheckForm, OneTimeIsOfOneWriteOrOfABatchOfDeletions) {
  const auto form_with = [](const char* second_lock, Kind second_kind) {
    auto s = holder();
    const auto id = s.last_lock_id("a", 1);
    s.also({.at_ns = 10 * kMs, .kind = Kind::put, .name = "another", .lock_id = id, .order = 101});
    s.release(300, 310, "a", 1, 110);
    s.also({.at_ns = 300 * kMs, .kind = second_kind, .name = second_lock, .order = 110});
    if (second_kind == Kind::put) s.before(1).lock_id = "0123456789abcdef0123456789abcdef.1.x";
    return judged(s.end(9'000), Check::form);
  };
  EXPECT_EQ(form_with("another", Kind::gone).why, "");
  EXPECT_EQ(form_with("lock", Kind::gone).why, "two writes of one time");
  EXPECT_EQ(form_with("another", Kind::put).why, "two writes of one time");
}

TEST(CheckForm, AWriteThatNoClientSentIsAnAdministratorsWhoSaysSo) {
  constexpr const char* kForced = "0123456789abcdef0123456789abcdef.1000.1.by force";
  auto s = holder().release(300, 310, "a", 1, 110);
  s.also({.at_ns = 8'900 * kMs,
          .kind = Kind::put,
          .name = "lock",
          .lock_id = kForced,
          .order = 120});
  EXPECT_EQ(judged(s.end(9'000), Check::form).why, "a write that no process sent");
  s.fault(8'800, "force-release", "", "lock").with([](Event& e) { e.lock_id = kForced; });
  EXPECT_EQ(judged(s.end(9'000), Check::form).why, "");
}

TEST(CheckGrounds, AGrantAndAnAnsweredReleaseNeedAReplyThatSaysSo) {
  const auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
  ASSERT_EQ(judged(history, Check::grounded).verdict, Verdict::holds);
  EXPECT_EQ(judged(unanswered(history, 1), Check::grounded).why, "a: a grant that nothing won");
  EXPECT_EQ(judged(unanswered(history, 2), Check::grounded).why, "a: a release without an answer");
}

TEST(CheckGrounds, AnExtensionOfALostLockIsStray) {
  auto s = holder().lose(1'010, "a", 1).extend(1'020, 1'030, "a", 1, 120);
  EXPECT_EQ(judged(s.end(9'000), Check::grounded).why, "a: a stray extension");
}

TEST(CheckGrounds, AnAcknowledgedWriteIsInAnOplogThatWasReadToItsEnd) {
  auto history = holder().extend(300, 310, "a", 1, 110).end(9'000);
  std::erase_if(history, [](const Event& e) { return e.kind == Kind::put && e.order == 110; });
  EXPECT_EQ(judged(history, Check::grounded).why,
            "a: an acknowledged write that the server does not know");
  history.push_back({.at_ns = 9'000 * kMs, .kind = Kind::reread, .outcome = "unread"});
  EXPECT_EQ(judged(history, Check::grounded).violations, 0);
  EXPECT_EQ(judged(history, Check::form).verdict, Verdict::unknown);
}

TEST(CheckGrounds, ADeletionThatIsNowhereIsFoundAndOneThatWasRepeatedIsNone) {
  auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
  const auto answer = std::ranges::find_if(
      history, [](const Event& e) { return e.kind == Kind::reply && e.verb == "delete"; });
  answer->order = 111;  // the answer to a repeated one is of a later time
  EXPECT_EQ(judged(history, Check::grounded).violations, 0);
  std::erase_if(history, [](const Event& e) { return e.kind == Kind::gone; });
  EXPECT_EQ(judged(history, Check::grounded).why, "a: a deletion that the server does not know");
}

TEST(CheckGrounds, ACallOfAProcessThatGoesOnEndsAndAStallGivesItMoreTime) {
  const auto with_stall = [](int length) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1, 500).refused(10, 20, "a", 1).ask(2'000, "a", 2);
    if (length > 0) s.stall(600, 600 + length);
    return judged(s.end(9'000), Check::grounded);
  };
  EXPECT_EQ(with_stall(0).why, "a: an acquire call that never ended");
  EXPECT_EQ(with_stall(200).verdict, Verdict::violated);
  EXPECT_EQ(with_stall(400).verdict, Verdict::holds);
}

/// The answer to a second sending has the time of another write, and grants nothing.
TEST(CheckGrounds, AWinIsGrantedOrGivenBackUnlessItsAnswerIsOfASecondSending) {
  for (const bool second : {false, true}) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1, 8'000).win_too_late(10, 20, "a", 1, 100);
    if (second) ++s.before(1).order;
    for (int at = 100; at < 7'000; at += 500) s.refused(at, at + 10, "a", 1);
    const auto f = judged(s.end(9'000), Check::grounded);
    EXPECT_EQ(f.why.find("a win that came to nothing") == std::string::npos, second) << f.why;
  }
}

TEST(CheckGrounds, ViolatedStaysSoWhateverElseIsWrong) {
  auto history = holder().yes(5, 15, "a", 1).release(300, 310, "a", 1, 110).end(9'000);
  history = unanswered(history, 2);
  const auto findings = judge(digest(history));
  EXPECT_EQ(find(findings, Check::form).verdict, Verdict::unknown);
  EXPECT_EQ(find(findings, Check::grounded).verdict, Verdict::violated);
  EXPECT_EQ(overall(findings), Verdict::violated);
}

TEST(CheckForm, AnswersThatCannotBeAreRefused) {
  const std::vector<HistoryBuilder> odd{
      holder().yes(5, 15, "a", 1),  // before the grant
      holder().lose(1'010, "a", 1).no(1'030, 1'020, "a", 1),
      holder().yes(30, 40, "a", 2),  // of nobody
      holder().lose(1'010, "a", 1).notified(1'010, "a", 1).notified(1'011, "a", 1),
  };
  for (HistoryBuilder s : odd) {
    EXPECT_EQ(judged(s.end(9'000), Check::form).verdict, Verdict::unknown);
  }
  for (const char* field : {"outcome", "count", "span"}) {
    auto history = holder().release(1'009, 1'020, "a", 1, 110).end(9'000);
    for (auto& e : history) {
      if (e.kind != Kind::held) continue;
      if (field == std::string("outcome")) e.outcome = "perhaps";
      if (field == std::string("count")) e.count = 0;
      if (field == std::string("span")) e.count = 1;  // one question cannot span time
    }
    EXPECT_EQ(judged(history, Check::form).verdict, Verdict::unknown) << field;
  }
}

TEST(CheckForm, WaitingForAWorkerWhileNoneIsBusyIsViolated) {
  const auto with = [](int from, int to) {
    auto s = a_holds().congestion(from, to, "a");
    return judged(s.release(30, 40, "a", 1, 110).end(9'000), Check::grounded).violations;
  };
  EXPECT_EQ(with(11, 20), 0);
  EXPECT_EQ(with(11, 25), 1);
  EXPECT_EQ(with(21, 35), 1);
}

TEST(CheckForm, AKillWithinAStepMayHideThatAWorkerBecameFree) {
  const auto killed = [](bool asks_again) {
    auto s = a_holds().congestion(11, 12, "a");
    if (asks_again) s.ask(21, "a", 2);
    auto history = s.crash(22, "a").end(9'000);
    std::erase_if(history, [](const Event& e) { return e.kind == Kind::congestion && e.ends; });
    return judged(history, Check::grounded).violations;
  };
  EXPECT_EQ(killed(false), 0);
  EXPECT_EQ(killed(true), 1) << "it went on to the next step";
}

TEST(CheckForm, AHistoryWithLostOrDoubledEventsDoesNotHold) {
  const auto whole = good().end(9'000);
  ASSERT_EQ(overall_tested(judge(digest(whole))), Verdict::holds);
  int noticed = 0;
  for (Index i = 0; i < whole.size(); ++i) {
    auto dropped = whole, doubled = whole;
    dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(i));
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    const bool must_be_there = whole[i].kind != Kind::held;  // nobody has to ask
    noticed += !must_be_there || overall_tested(judge(digest(dropped))) != Verdict::holds ? 1 : 0;
    noticed += overall_tested(judge(digest(doubled))) != Verdict::holds ? 1 : 0;
  }
  EXPECT_GE(noticed * 10, static_cast<int>(whole.size()) * 2 * 9);
}

TEST(Checkers, AGoodHistoryHoldsEverywhere) {
  for (const auto& f : judge(digest(good().end(9'000)))) {
    EXPECT_EQ(f.verdict, Verdict::holds) << to_string(f.check) << ": " << f.why;
  }
}

TEST(Checkers, GuaranteesThatWereNeverTestedAreUnknown) {
  auto s = a_holds().release(30, 40, "a", 1, 110);
  const auto findings = judge(digest(s.end(9'000)));
  for (const auto check :
       {Check::G1, Check::G2, Check::G3, Check::G5, Check::G7, Check::G8}) {
    const auto f = find(findings, check);
    EXPECT_TRUE(f.never_tested()) << to_string(check);
    EXPECT_EQ(f.verdict, Verdict::unknown) << to_string(check);
  }
  EXPECT_EQ(overall(findings), Verdict::unknown);
  EXPECT_EQ(overall_tested(findings), Verdict::holds);  // as one run among many
}

TEST(Checkers, ARunInWhichNothingWasPutToTheTestIsUnknown) {
  HistoryBuilder s;
  s.start(1, "a");
  EXPECT_EQ(overall_tested(judge(digest(s.end(9'000)))), Verdict::unknown);
}

}  // namespace
}  // namespace leasehold::model
