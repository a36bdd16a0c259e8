#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(Checkers, AGoodHistoryHoldsEverywhere) {
  for (const auto& f : judge(good().end(9'000), {})) {
    EXPECT_EQ(f.verdict, Verdict::holds) << to_string(f.check) << ": " << f.why;
  }
}

TEST(Checkers, BelowItsFloorAFindingIsUnknownNeverGreen) {
  const auto findings = judge(good().end(9'000), {{Check::G1, 1'000}});
  EXPECT_EQ(find(findings, Check::G1).verdict, Verdict::unknown);
  EXPECT_EQ(overall(findings), Verdict::unknown);
}

TEST(Checkers, GuaranteesThatWereNeverTestedAreUnknown) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).release(30, 40, "a", 1, 110);
  const auto findings = judge(s.end(9'000), {});
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
  EXPECT_EQ(overall_tested(judge(s.end(9'000), {})), Verdict::unknown);
}

}  // namespace
}  // namespace leasehold::model
