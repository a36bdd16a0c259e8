#include "model/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// By the echo of three seconds each end reaches to 4,000 and 9,000.
TEST(Digest, OfTwoFaultsOfOneKindTheEndOfTheFirstIsNotThatOfTheSecond) {
  HistoryBuilder s;
  s.start(1, "a").fault(10, "cut-link", "begins").fault(500, "cut-link", "begins");
  s.fault(1'000, "cut-link", "ends").fault(6'000, "cut-link", "ends");
  const auto history = s.end(9'900);
  const auto d = digest(history);
  EXPECT_TRUE(d.disturbed({20 * kMs, 30 * kMs}));
  EXPECT_TRUE(d.disturbed({5'000 * kMs, 5'500 * kMs}));
  EXPECT_FALSE(d.disturbed({9'100 * kMs, 9'200 * kMs}));
}

TEST(Digest, AFaultThatBeginsAndNeverEndsDisturbsAllThatFollows) {
  HistoryBuilder s;
  const auto history = s.start(1, "a").fault(10, "cut-link", "begins").end(9'900);
  const auto d = digest(history);
  EXPECT_FALSE(d.disturbed({kMs, 10 * kMs}));
  EXPECT_TRUE(d.disturbed({9'800 * kMs, 9'900 * kMs}));
}

}  // namespace
}  // namespace leasehold::model
