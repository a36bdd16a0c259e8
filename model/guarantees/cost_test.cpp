#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckCost, AFaultARivalAndALostReplyExcuseTheSecondCommand) {
  HistoryBuilder fault, rival, other;
  for (HistoryBuilder* s : {&fault, &rival, &other}) s->start(1, "a").start(2, "b");
  fault.fault(5, "step-up").ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  rival.ask(5, "b", 1).win(5, 8, "b", 1, 90).release(12, 14, "b", 1, 95);
  rival.ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  other.ask(10, "a", 1).ask(11, "a", 2).look(12, 15, "a").win(20, 30, "a", 1, 100);
  EXPECT_EQ(judged(fault, Check::G9).all_excused(), 1);
  EXPECT_EQ(judged(rival, Check::G9).checked, 1);  // b's
  EXPECT_EQ(judged(rival, Check::G9).verdict, Verdict::holds);
  EXPECT_EQ(judged(other, Check::G9).verdict, Verdict::holds);  // its look was for another call
  HistoryBuilder lost;
  lost.start(1, "a").ask(10, "a", 1).refused(10, 15, "a", 1).win(20, 30, "a", 1, 100);
  EXPECT_TRUE(find(judge(unanswered(lost.end(9'000), 1), {}), Check::G9).never_tested());
}

TEST(CheckCost, AnAcquireThatTakesOneCommandInSpiteOfAFaultCountsAsChecked) {
  HistoryBuilder once;
  once.start(1, "a").fault(5, "step-up").ask(10, "a", 1).win(20, 30, "a", 1, 100);
  EXPECT_EQ(judged(once, Check::G9).checked, 1);
  EXPECT_EQ(judged(once, Check::G9).all_excused(), 0);
}

}  // namespace
}  // namespace leasehold::model
