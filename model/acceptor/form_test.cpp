#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckForm, AHandOverByWhoStillHoldsIsRefused) {
  auto s = two_callers();
  s.hand_over(300, 310, "a", 1, 2, 110);
  auto history = s.end(9'000);
  std::erase_if(history,
                [](const Event& e) { return e.kind == Kind::release || e.kind == Kind::released; });
  const auto findings = judge(history, {});
  EXPECT_EQ(find(findings, Check::form).verdict, Verdict::holds);
  const auto f = find(findings, Check::grounded);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_EQ(f.why, "a: a hand-over by a handle that still holds");
}

TEST(CheckForm, AFieldThatItsKindHasNotIsNamed) {
  auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
  history[1].token = 5;
  EXPECT_EQ(find(judge(history, {}), Check::form).why, "start has no field 'token'");
}

/// Only the deletions of a batch, of several locks, share one time.
TEST(CheckForm, OneTimeIsOfOneWriteOrOfABatchOfDeletions) {
  const auto form_with = [](const char* second_lock, Kind second_kind) {
    auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
    const auto put =
        std::ranges::find_if(history, [](const Event& e) { return e.kind == Kind::put; });
    auto of_another = *put;
    of_another.name = "another";
    ++of_another.order;
    history.insert(put + 1, of_another);
    const auto gone =
        std::ranges::find_if(history, [](const Event& e) { return e.kind == Kind::gone; });
    auto second = *gone;
    second.name = second_lock;
    second.kind = second_kind;
    if (second_kind == Kind::put) second.lock_id = "0123456789abcdef0123456789abcdef.1.x";
    history.insert(gone + 1, second);
    return find(judge(history, {}), Check::form);
  };
  EXPECT_EQ(form_with("another", Kind::gone).why, "");
  EXPECT_EQ(form_with("lock", Kind::gone).why, "two writes of one time");
  EXPECT_EQ(form_with("another", Kind::put).why, "two writes of one time");
}

TEST(CheckForm, AWriteThatNoClientSentIsAnAdministratorsWhoSaysSo) {
  constexpr const char* kForced = "0123456789abcdef0123456789abcdef.1000.1.by force";
  auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
  auto put = *std::ranges::find_if(history, [](const Event& e) { return e.kind == Kind::put; });
  put.lock_id = kForced;
  put.order = 120;
  put.at_ns = (history.end() - 1)->at_ns;
  const auto before_the_end = history.end() - 1;
  history.insert(before_the_end, put);
  EXPECT_EQ(find(judge(history, {}), Check::form).why, "a write that no process sent");
  Event fault;
  fault.kind = Kind::fault;
  fault.at_ns = put.at_ns;
  fault.fault = "force-release";
  fault.victim = put.name;
  fault.lock_id = kForced;
  history.insert(history.end() - 2, fault);
  EXPECT_EQ(find(judge(history, {}), Check::form).why, "");
}

Finding grounds_of(const History& history) { return find(judge(history, {}), Check::grounded); }

TEST(CheckGrounds, AGrantAndAnAnsweredReleaseNeedAReplyThatSaysSo) {
  const auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
  ASSERT_EQ(grounds_of(history).verdict, Verdict::holds);
  EXPECT_EQ(grounds_of(unanswered(history, 1)).why, "a: a grant that nothing won");
  EXPECT_EQ(grounds_of(unanswered(history, 2)).why, "a: a release without an answer");
}

TEST(CheckGrounds, AnExtensionOfALostLockIsStray) {
  auto s = holder().lose(1'010, "a", 1).extend(1'020, 1'030, "a", 1, 120);
  EXPECT_EQ(grounds_of(s.end(9'000)).why, "a: a stray extension");
}

TEST(CheckGrounds, AnAcknowledgedWriteIsInAnOplogThatWasReadToItsEnd) {
  auto history = holder().extend(300, 310, "a", 1, 110).end(9'000);
  std::erase_if(history, [](const Event& e) { return e.kind == Kind::put && e.order == 110; });
  EXPECT_EQ(grounds_of(history).why, "a: an acknowledged write that the server does not know");
  Event unread;
  unread.kind = Kind::reread;
  unread.outcome = "unread";
  unread.at_ns = history.back().at_ns;
  history.push_back(unread);
  EXPECT_EQ(grounds_of(history).violations, 0);
  EXPECT_EQ(find(judge(history, {}), Check::form).verdict, Verdict::unknown);
}

TEST(CheckGrounds, ADeletionThatIsNowhereIsFoundAndOneThatWasRepeatedIsNone) {
  auto history = holder().release(300, 310, "a", 1, 110).end(9'000);
  const auto answer = std::ranges::find_if(
      history, [](const Event& e) { return e.kind == Kind::reply && e.verb == "delete"; });
  answer->order = 111;  // the answer to a repeated one is of a later time
  EXPECT_EQ(grounds_of(history).violations, 0);
  std::erase_if(history, [](const Event& e) { return e.kind == Kind::gone; });
  EXPECT_EQ(grounds_of(history).why, "a: a deletion that the server does not know");
}

TEST(CheckGrounds, ACallOfAProcessThatGoesOnEndsAndAStallGivesItMoreTime) {
  const auto with_stall = [](int length) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1, 500).refused(10, 20, "a", 1).ask(2'000, "a", 2);
    if (length > 0) s.stall(600, 600 + length);
    return grounds_of(s.end(9'000));
  };
  EXPECT_EQ(with_stall(0).why, "a: an acquire call that never ended");
  EXPECT_EQ(with_stall(200).verdict, Verdict::violated);
  EXPECT_EQ(with_stall(400).verdict, Verdict::holds);
}

/// A release that its lock ignores.
/// The answer to a second sending has the time of another write, and grants nothing.
TEST(CheckGrounds, AWinIsGrantedOrGivenBackUnlessItsAnswerIsOfASecondSending) {
  for (const bool second : {false, true}) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1, 8'000).win_too_late(10, 20, "a", 1, 100);
    for (int at = 100; at < 7'000; at += 500) s.refused(at, at + 10, "a", 1);
    auto history = s.end(9'000);
    for (Event& e : history) {
      if (second && e.kind == Kind::reply && e.order == 100) ++e.order;
    }
    const auto f = find(judge(history, {}), Check::grounded);
    EXPECT_EQ(f.why.find("a win that came to nothing") == std::string::npos, second) << f.why;
  }
}

TEST(CheckGrounds, ViolatedStaysSoWhateverElseIsWrong) {
  auto history = holder().yes(5, 15, "a", 1).release(300, 310, "a", 1, 110).end(9'000);
  history = unanswered(history, 2);
  const auto findings = judge(history, {});
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
    EXPECT_EQ(find(judge(s.end(9'000), {}), Check::form).verdict, Verdict::unknown);
  }
  for (const char* field : {"outcome", "count", "span"}) {
    auto history = holder().release(1'009, 1'020, "a", 1, 110).end(9'000);
    for (auto& e : history) {
      if (e.kind != Kind::held) continue;
      if (field == std::string("outcome")) e.outcome = "perhaps";
      if (field == std::string("count")) e.count = 0;
      if (field == std::string("span")) e.count = 1;  // one question cannot span time
    }
    EXPECT_EQ(find(judge(history, {}), Check::form).verdict, Verdict::unknown) << field;
  }
}

TEST(CheckForm, WaitingForAWorkerWhileNoneIsBusyIsViolated) {
  const auto with = [](int from, int to) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).congestion(from, to, "a");
    return grounds_of(s.release(30, 40, "a", 1, 110).end(9'000)).violations;
  };
  EXPECT_EQ(with(11, 20), 0);
  EXPECT_EQ(with(11, 25), 1);
  EXPECT_EQ(with(21, 35), 1);
}

TEST(CheckForm, AKillWithinAStepMayHideThatAWorkerBecameFree) {
  const auto killed = [](bool asks_again) {
    HistoryBuilder s;
    s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).congestion(11, 12, "a");
    if (asks_again) s.ask(21, "a", 2);
    auto history = s.crash(22, "a").end(9'000);
    std::erase_if(history, [](const Event& e) { return e.kind == Kind::congestion && e.ends; });
    return grounds_of(history).violations;
  };
  EXPECT_EQ(killed(false), 0);
  EXPECT_EQ(killed(true), 1) << "it went on to the next step";
}

TEST(CheckForm, AHistoryWithLostOrDoubledEventsDoesNotHold) {
  const auto whole = good().end(9'000);
  ASSERT_EQ(overall_tested(judge(whole, {})), Verdict::holds);
  int noticed = 0;
  for (Index i = 0; i < whole.size(); ++i) {
    auto dropped = whole, doubled = whole;
    dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(i));
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    const bool must_be_there = whole[i].kind != Kind::held;  // nobody has to ask
    noticed += !must_be_there || overall_tested(judge(dropped, {})) != Verdict::holds ? 1 : 0;
    noticed += overall_tested(judge(doubled, {})) != Verdict::holds ? 1 : 0;
  }
  EXPECT_GE(noticed * 10, static_cast<int>(whole.size()) * 2 * 9);
}

}  // namespace
}  // namespace leasehold::model
