#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckOwnership, AHandOverOfAnothersLockIsViolated) {
  auto s = two_callers();
  s.ask(40, "b", 1).win(1'100, 1'110, "b", 1, 105).hand_over(1'300, 1'310, "a", 1, 2, 110);
  const auto f = judged(s, Check::G6);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("a hand-over of a wrote over another's lock"), std::string::npos) << f.why;
}

/// `a` holds and `b` waits in the queue, refused at 30 ms.
HistoryBuilder queued() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c");
  s.ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(30, "b", 1).refused(30, 40, "b", 1);
  return s;
}

TEST(CheckOwnership, AReleaseGivesTheLockToWhoQueued) {
  auto s = queued();
  s.pass_on(300, 310, "a", 1, 315, "b", 1, 110).release(400, 410, "b", 1, 120);
  for (const auto check : {Check::G1, Check::G4, Check::G6, Check::release}) {
    const auto f = judged(s, check);
    EXPECT_NE(f.verdict, Verdict::violated) << f.why;
  }
}

TEST(CheckOwnership, AReleaseThatGivesAwayAnothersLockIsViolated) {
  auto s = queued();
  s.lose(1'010, "a", 1).ask(50, "c", 1).win(1'020, 1'030, "c", 1, 105);
  s.pass_on(1'040, 1'050, "a", 1, 1'060, "b", 1, 110);
  const auto f = judged(s, Check::G6);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("a release of a gave away another's lock"), std::string::npos) << f.why;
  EXPECT_EQ(judged(s, Check::G1).verdict, Verdict::violated) << "c had a lease";
}

TEST(CheckOwnership, AGrantThatNoReleaseGaveIsATakeoverBeforeItsTime) {
  auto s = queued();
  s.pass_on(300, 310, "a", 1, 315, "b", 1, 110);
  auto history = s.end(9'000);
  std::erase_if(history,
                [](const Event& e) { return e.verb == "pass-on" && e.kind != Kind::granted; });
  EXPECT_EQ(find(judge(history, {}), Check::G1).verdict, Verdict::violated);
}

TEST(CheckOwnership, ALateReleaseThatDeletesTheNextHoldersLockIsViolated) {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.lose(1'010, "a", 1).ask(40, "b", 1).win(1'020, 1'030, "b", 1, 110);
  s.release(1'100, 1'110, "a", 1, 120);
  s.lose(2'020, "b", 1);
  const auto f = judged(s, Check::G6);
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("of a deleted the lock of another"), std::string::npos) << f.why;
}

TEST(CheckOwnership, AnExtensionThatInsertsIsViolated) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).gone(200, 105);
  s.extend(300, 310, "a", 1, 110).lose(1'300, "a", 1);
  EXPECT_EQ(judged(s, Check::G6).verdict, Verdict::violated);
}

/// b's late release deletes a's lock, and its answer is lost.
TEST(CheckOwnership, AForeignDeletionThatNobodyAnsweredIsViolated) {
  const auto with = [](int gone, const std::string& fault) {
    HistoryBuilder s;
    s.start(1, "a").start(2, "b").ask(5, "b", 1).win(5, 8, "b", 1, 90).lose(1'005, "b", 1);
    s.ask(10, "a", 1).win(1'010, 1'020, "a", 1, 100).lose(2'010, "a", 1);
    s.release(1'100, 1'400, "b", 1, 0).gone(gone, 105).fault(900, fault);
    return find(judge(unanswered(s.end(9'000), 3), {}), Check::G6);
  };
  const auto f = with(1'200, "step-up");
  EXPECT_EQ(f.verdict, Verdict::violated);
  EXPECT_NE(f.why.find("without an answer"), std::string::npos) << f.why;
  EXPECT_NE(with(2'100, "step-up").verdict, Verdict::violated);  // the TTL monitor's, perhaps
}

TEST(CheckOwnership, ADeleteThatWasNotExecutedTookNothing) {
  for (const std::string outcome : {"unknown", "failed_before"}) {
    HistoryBuilder s;
    s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
    auto history = s.clean_up(100, 120, "b", 1, 0).gone(110, 101).end(9'000);
    for (auto& e : history) {
      if (e.kind == Kind::reply && e.verb == "delete") e.outcome = outcome;
    }
    EXPECT_EQ(find(judge(history, {}), Check::G6).violations, outcome == "unknown" ? 1 : 0);
  }
}

}  // namespace
}  // namespace leasehold::model
