#include "model/generated/sound_histories.hpp"

#include <map>

#include "model/generated/promise.hpp"

/// Histories in which all is as it should be hold, whatever disturbs them.
namespace leasehold::model {
namespace {

using Play = void (SoundHistories::*)(HistoryBuilder&);

/// In how many of five hundred histories each check was tested, and each count was above 0.
std::map<std::string, int> hold_often(Play play) {
  constexpr std::uint32_t kHistories = 500;
  std::map<std::string, int> tested;
  for (std::uint32_t seed = 0; seed < kHistories; ++seed) {
    Draws draw(seed);
    SoundHistories sound(draw);
    HistoryBuilder s;
    if (sound.is_exact()) s.exact();
    (sound.*play)(s);
    if (draw.one_in(2)) sound.disturb(s);
    const auto h = s.end(draw.from(16'000, 22'000));
    for (const auto& f : judge(h, {})) {
      EXPECT_EQ(f.violations, 0) << "seed " << seed << ": " << f.why << '\n' << lines_of(h);
      tested[to_string(f.check)] += f.checked > 0 ? 1 : 0;
      for (const auto& [what, count] : f.counts) tested[what] += count > 0 ? 1 : 0;
    }
    if (testing::Test::HasFailure()) break;
  }
  return tested;
}

TEST(SoundHistories, HoldWithOneLock) {
  auto tested = hold_often(&SoundHistories::play);
  for (const auto& row : kAboutChecks) {
    const auto kind = row.kind;
    if (row.check == Check::calls) continue;  // no user is in them
    if (kind != CheckKind::promise && kind != CheckKind::rule) continue;
    EXPECT_GE(tested[row.name] * 10, 500) << row.name;
  }
}

TEST(SoundHistories, HoldWithAQueue) {
  auto tested = hold_often(&SoundHistories::play_queue);
  for (const char* often : {"queue_turns", "queue_waits", "places_kept_by_grants"}) {
    EXPECT_GE(tested[often] * 3, 500) << often;
  }
  for (const char* seldom : {"queue_news", "queue_offers", "queue_left", "given_back",
                             "places_kept_by_extensions"}) {
    EXPECT_GE(tested[seldom] * 50, 500) << seldom;
  }
}

TEST(SoundHistories, HoldWithCallsForPermitsAndSeveralLocks) {
  auto tested = hold_often(&SoundHistories::play_calls);
  for (const char* often : {"permit_calls", "all_calls", "healed_permits"}) {
    EXPECT_GE(tested[often] * 10, 500) << often;
  }
  EXPECT_GE(tested["permit_waits"] * 100, 500);
}

}  // namespace
}  // namespace leasehold::model
