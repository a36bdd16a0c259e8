#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// The answer of a release, changed by hand.
Finding with_answer(HistoryBuilder story, const std::string& outcome) {
  auto history = story.end(9'000);
  for (auto& e : history) {
    if (e.kind == Kind::released) e.outcome = outcome;
    if (e.kind == Kind::reply && e.verb == "delete" && e.order == 0) e.order = 115;
  }
  return find(judge(history, {}), Check::release);
}

TEST(CheckRelease, AnAnswerThatTheServerRefutesIsViolated) {
  HistoryBuilder held, taken, there;
  for (HistoryBuilder* s : {&held, &taken, &there}) {
    s->start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  }
  held.release(400, 410, "a", 1, 120);
  taken.gone(300, 105).release(400, 410, "a", 1, 0);
  there.release(400, 410, "a", 1, 0);
  EXPECT_EQ(with_answer(held, "released").verdict, Verdict::holds);
  EXPECT_EQ(with_answer(held, "not_owner").verdict, Verdict::violated);
  EXPECT_EQ(with_answer(taken, "not_owner").verdict, Verdict::holds);
  EXPECT_EQ(with_answer(taken, "released").verdict, Verdict::violated);
  EXPECT_EQ(with_answer(there, "not_owner").verdict, Verdict::violated);
  EXPECT_EQ(with_answer(there, "released").verdict, Verdict::violated);
  EXPECT_TRUE(with_answer(there, "unknown").never_tested());
}

}  // namespace
}  // namespace leasehold::model
