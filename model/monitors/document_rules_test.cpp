#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model::document_rules_test {
namespace {

HistoryBuilder held_by_a() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(12, "b", 1);
  return s;
}

/// The last put of a history, changed.
template <typename Change>
Finding with_last_put(HistoryBuilder story, Check check, const Change& change) {
  auto history = story.end(9'000);
  const auto last = std::find_if(history.rbegin(), history.rend(),
                                 [](const Event& e) { return e.kind == Kind::put; });
  change(*last);
  return find(judge(history, {}), check);
}

TEST(CompareAndSetRule, AnothersLockIsTakenWhenItHasExpired) {
  const auto with = [](int at) {
    auto s = held_by_a();
    return judged(s.crash(30, "a").win(at, at + 10, "b", 1, 120), Check::compare_and_set);
  };
  EXPECT_EQ(with(1'510).verdict, Verdict::holds);
  EXPECT_EQ(with(1'509).why,
            "lock 'lock': acquire 2 of b writes over a lock that is another's: neither observed "
            "nor given, and in force for 1 ms more");
}

TEST(CompareAndSetRule, OrWhenItsVeryLockIdIsTheOneObserved) {
  const auto with = [](bool extended) {
    auto s = held_by_a();
    s.refused(12, 22, "b", 1).seeing("a", 1).presuming("a", 1);
    // What was seen before the extension, which nobody saw, is not what stands there.
    auto history = s.win(1'100, 1'110, "b", 1, 120).end(9'000);
    if (extended) {
      for (Event& e : history) {
        if (e.kind == Kind::put && e.order == 100) e.lock_id += "0";
      }
    }
    return find(judge(history, {}), Check::compare_and_set).verdict;
  };
  EXPECT_EQ(with(false), Verdict::holds);
  EXPECT_EQ(with(true), Verdict::violated);
}

TEST(CompareAndSetRule, OrWhenItsHolderGivesIt) {
  auto s = held_by_a();
  s.refused(12, 22, "b", 1).seeing("a", 1).pass_on(300, 310, "a", 1, 320, "b", 1, 120);
  EXPECT_EQ(judged(s, Check::compare_and_set).verdict, Verdict::holds);
  auto t = two_callers();
  t.hand_over(100, 110, "a", 1, 2, 120);
  EXPECT_EQ(judged(t, Check::compare_and_set).verdict, Verdict::holds);
}

TEST(CompareAndSetRule, AnExtensionFindsItsOwn) {
  auto s = held_by_a();
  s.gone(200, 110).extend(300, 310, "a", 1, 120);
  EXPECT_EQ(judged(s, Check::compare_and_set).why,
            "lock 'lock': extend 2 of a writes a lock where there is none");
  auto t = held_by_a();
  t.win(1'600, 1'610, "b", 1, 110).extend(1'700, 1'710, "a", 1, 120);
  EXPECT_EQ(judged(t, Check::compare_and_set).violations, 1);
}

TEST(ExpiresAtRule, ItIsALeaseAndTheMarginAfterAcquiredAt) {
  EXPECT_EQ(judged(held_by_a(), Check::expires_at).verdict, Verdict::holds);
  const auto f = with_last_put(held_by_a(), Check::expires_at,
                               [](Event& put) { put.expires_at_ms -= 500; });
  EXPECT_EQ(f.why,
            "lock 'lock': acquire 1 of a leaves a document that expires 1000 ms after acquiredAt: "
            "expiry and clock_margin are 1500 ms");
}

TEST(ExpiresAtRule, NoOwnWriteLowersItOrChangesAcquiredAt) {
  auto s = held_by_a();
  s.extend(300, 310, "a", 1, 110);
  EXPECT_EQ(judged(s, Check::expires_at).verdict, Verdict::holds);
  const auto sooner = [&](std::int64_t by_ms) {
    return with_last_put(s, Check::expires_at, [by_ms](Event& e) { e.expires_at_ms -= by_ms; });
  };
  EXPECT_EQ(sooner(290).verdict, Verdict::holds);
  EXPECT_EQ(sooner(291).why,
            "lock 'lock': extend 2 of a lowers expiresAt of its own lock by 1 ms");
  EXPECT_EQ(with_last_put(s, Check::expires_at, [](Event& e) { ++e.acquired_at_ms; }).verdict,
            Verdict::violated);
}

TEST(ExpiresAtRule, AFreeDocumentThatMayNameWhoIsNextIsNotAsked) {
  auto s = held_by_a();
  s.refused(12, 22, "b", 1).pass_on(300, 310, "a", 1, 320, "b", 1, 120).gone(400, 125);
  s.ask(410, "b", 2).win(420, 430, "b", 2, 130);
  const auto f = with_last_put(s, Check::expires_at, [](Event& e) { e.acquired_at_ms -= 100; });
  EXPECT_EQ(f.verdict, Verdict::holds);
}

TEST(StoredTokenRule, ItRisesWithEachGrantAndIsBelowItsOwn) {
  auto s = held_by_a();
  s.extend(300, 310, "a", 1, 110);
  const auto with = [](const HistoryBuilder& story, std::int64_t token) {
    return with_last_put(story, Check::stored_token,
                         [token](Event& e) { e.stored_token = token; })
        .verdict;
  };
  EXPECT_EQ(with(s, 99), Verdict::holds) << "an extension may keep it";
  EXPECT_EQ(with(s, 98), Verdict::violated);
  EXPECT_EQ(with(s, 110), Verdict::violated) << "its own is the order of its write";
  auto t = held_by_a();
  t.crash(30, "a").win(1'600, 1'610, "b", 1, 120);
  EXPECT_EQ(with(t, 100), Verdict::holds);
  EXPECT_EQ(with(t, 99), Verdict::violated);
}

TEST(DocumentRules, AreUnknownOfAHistoryThatHasNoDates) {
  auto history = good().end(9'000);
  for (Event& e : history) e.acquired_at_ms = e.expires_at_ms = e.stored_token = 0;
  for (const auto rule : {Check::presumed_dead, Check::compare_and_set,
                          Check::expires_at, Check::stored_token}) {
    const auto f = find(judge(history, {}), rule);
    EXPECT_EQ(f.verdict, Verdict::unknown) << to_string(rule);
    EXPECT_EQ(f.why,
              "the history does not say what stands in its documents: an older release wrote it");
  }
}

}  // namespace
}  // namespace leasehold::model::document_rules_test
