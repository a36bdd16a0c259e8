#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// `a` holds and `b` waits in the queue, refused at 30 ms.
HistoryBuilder queued() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c");
  s.ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(30, "b", 1).refused(30, 40, "b", 1);
  return s;
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
