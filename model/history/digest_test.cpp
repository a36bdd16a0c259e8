#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// By the echo of three seconds each end reaches to 4,000 and 9,000.
TEST(Digest, TwoFaultsOfOneKindEndSeparately) {
  HistoryBuilder s;
  s.start(1, "a").fault(10, "cut-link", "begins").fault(500, "cut-link", "begins");
  s.fault(1'000, "cut-link", "ends").fault(6'000, "cut-link", "ends");
  const auto history = s.end(9'900);
  const auto d = digest(history);
  EXPECT_TRUE(d.disturbances.meet({20 * kMs, 30 * kMs}));
  EXPECT_TRUE(d.disturbances.meet({5'000 * kMs, 5'500 * kMs}));
  EXPECT_FALSE(d.disturbances.meet({9'100 * kMs, 9'200 * kMs}));
}

TEST(Digest, AFaultThatBeginsAndNeverEndsDisturbsAllThatFollows) {
  HistoryBuilder s;
  const auto history = s.start(1, "a").fault(10, "cut-link", "begins").end(9'900);
  const auto d = digest(history);
  EXPECT_FALSE(d.disturbances.meet({kMs, 10 * kMs}));
  EXPECT_TRUE(d.disturbances.meet({9'800 * kMs, 9'900 * kMs}));
}

TEST(Digest, ASetWithoutAMajorityIsDisturbedForThatTime) {
  HistoryBuilder s;
  const auto history = s.start(1, "a").no_majority(1'000, 3'000).end(9'900);
  const auto d = digest(history);
  EXPECT_FALSE(d.disturbances.meet({900 * kMs, 1'000 * kMs}));
  EXPECT_TRUE(d.disturbances.meet({2'900 * kMs, 2'950 * kMs}));
  EXPECT_FALSE(d.disturbances.meet({3'000 * kMs, 3'100 * kMs})) << "it has no echo";
}

TEST(Digest, AReplyClaimsNoChangeOfAnotherLock) {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(12, "b", 1);
  const auto history = s.release(30, 40, "a", 1, 110).end(9'900);
  const auto claim_if_gone_is_of = [&](const std::string& name) {
    auto h = history;
    const auto gone =
        std::ranges::find_if(h, [](const Event& e) { return e.kind == Kind::gone; });
    gone->name = name;
    return digest(h).claim(static_cast<Index>(gone - h.begin()));
  };
  EXPECT_NE(claim_if_gone_is_of("lock"), kNone);
  EXPECT_EQ(claim_if_gone_is_of("another"), kNone);
}

}  // namespace
}  // namespace leasehold::model
