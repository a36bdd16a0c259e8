#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "model/containers/spans.hpp"
#include "model/guarantees/checker_stories.hpp"
#include "model/history/facts.hpp"

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

Event send(const std::string& process, std::int64_t command, const std::string& name) {
  Event e;
  e.kind = Kind::send;
  e.process = process;
  e.session = e.command = command;
  e.name = name;
  return e;
}

/// Some texts of each length differ in one character only: the first, one inside, the last.
TEST(Facts, TextsHaveOneNumberExactlyIfTheyAreEqual) {
  std::vector<std::string> texts{""};
  for (std::size_t length = 1; length <= 40; ++length) {
    for (std::size_t changed = 0; changed <= length; ++changed) {
      std::string text(length, 'a');
      if (changed < length) text[changed] = 'b';
      texts.push_back(text);
    }
  }
  History history;
  for (int twice = 0; twice < 2; ++twice) {
    for (const auto& text : texts) history.push_back(send("p", 1, text));
  }
  const Facts all = facts(history);
  EXPECT_EQ(all.names.size(), texts.size());
  EXPECT_TRUE(std::is_sorted(all.names.begin(), all.names.end()));
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(all.names[all.all[i].name], history[i].name);
  }
}

TEST(Facts, SessionsAreNumberedInTheOrderOfTheirProcessAndNumber) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  History history;
  for (const char* process : {"b", "a", "b"}) {
    for (const std::int64_t number : {3L, kMost, 1L, -7L, 1'000'000L, 3L}) {
      history.push_back(send(process, number, "lock"));
    }
  }
  const Facts all = facts(history);
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
