#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "model/containers/spans.hpp"
#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// Whether servers or links are disturbed at some time in these ms.
bool disturbed(const HistoryBuilder& s, int from, int to) {
  const auto history = s.end(9'900);
  return digest(history).disturbances.meet({from * kMs, to * kMs});
}

/// By the echo of three seconds each end reaches to 4,000 and 9,000.
TEST(Digest, TwoFaultsOfOneKindEndSeparately) {
  auto s = a_holds().fault(10, "cut-link", "begins").fault(500, "cut-link", "begins");
  s.fault(1'000, "cut-link", "ends").fault(6'000, "cut-link", "ends");
  EXPECT_TRUE(disturbed(s, 20, 30));
  EXPECT_TRUE(disturbed(s, 5'000, 5'500));
  EXPECT_FALSE(disturbed(s, 9'100, 9'200));
}

TEST(Digest, AFaultThatBeginsAndNeverEndsDisturbsAllThatFollows) {
  const auto s = a_holds().fault(10, "cut-link", "begins");
  EXPECT_FALSE(disturbed(s, 1, 10));
  EXPECT_TRUE(disturbed(s, 9'800, 9'900));
}

TEST(Digest, ASetWithoutAMajorityIsDisturbedForThatTime) {
  const auto s = a_holds().no_majority(1'000, 3'000);
  EXPECT_FALSE(disturbed(s, 900, 1'000));
  EXPECT_TRUE(disturbed(s, 2'900, 2'950));
  EXPECT_FALSE(disturbed(s, 3'000, 3'100)) << "it has no echo";
}

TEST(Digest, AReplyClaimsNoChangeOfAnotherLock) {
  auto s = a_holds().ask(12, "b", 1);
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

TEST(Facts, SessionsAreNumberedInTheOrderOfTheirProcessAndNumber) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  History history;
  for (const char* process : {"b", "a", "b"}) {
    for (const std::int64_t number : {3L, kMost, 1L, -7L, 1'000'000L, 3L}) {
      history.push_back(
          {.kind = Kind::send, .process = process, .session = number, .command = number});
    }
  }
  const Facts all = digest(history).facts;
  ASSERT_EQ(all.sessions.size(), 10u);
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Fact& e = all.all[i];
    for (const Numbered& one : {all.sessions[e.session], all.commands[e.command]}) {
      EXPECT_EQ(all.processes[one.process], history[i].process);
      EXPECT_EQ(one.number, history[i].session);
    }
  }
  EXPECT_EQ(all.processes[all.sessions.front().process], "a");
  EXPECT_EQ(all.sessions.front().number, -7);
  EXPECT_EQ(all.sessions.back().number, kMost);
}

TEST(MergedSpans, MeetWhatOneOfThemMeets) {
  const std::vector<Span> spans{{10, 20}, {40, 50}, {15, 30}, {30, 35}, {60, 60}};
  const MergedSpans merged(spans);
  for (std::int64_t from = 0; from < 70; ++from) {
    for (std::int64_t to = from; to < 70; ++to) {
      const Span span{from, to};
      const bool met = std::any_of(spans.begin(), spans.end(),
                                   [&](const Span& one) { return one.meets(span); });
      EXPECT_EQ(merged.meet(span), met) << from << " to " << to;
    }
  }
}

}  // namespace
}  // namespace leasehold::model
