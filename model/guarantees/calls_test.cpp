#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

Finding judged_calls(HistoryBuilder story) {
  return judged(std::move(story.exact()), Check::calls);
}

/// What it says of the first violation; "": it holds.
std::string why(const HistoryBuilder& story) {
  const auto f = judged_calls(story);
  EXPECT_GT(f.checked, 0);
  return f.verdict == Verdict::holds ? "" : f.why;
}

HistoryBuilder one() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b");
  return s;
}

/// `a` holds until 1,010, and knows it at 20.
HistoryBuilder holds() {
  auto s = one();
  s.calls(10, "a", "try_acquire", 500).ask(10, "a", 1, 500).win(10, 20, "a", 1, 100);
  s.returns(20, "a", "granted", 1, 100);
  return s;
}

TEST(CheckCalls, AGrantIsToldWithItsHandle) {
  EXPECT_EQ(why(holds()), "");
  auto no_handle = one();
  no_handle.calls(10, "a", "try_acquire", 500).ask(10, "a", 1, 500).win(10, 20, "a", 1, 100);
  EXPECT_NE(why(no_handle.returns(20, "a", "granted")), "");
}

TEST(CheckCalls, AnErrorIsTheOneThatItsAttemptMet) {
  const auto told = [](const std::string& core, const std::string& user, int until = 310) {
    auto s = one();
    s.calls(10, "a", "try_acquire", until).ask(10, "a", 1, until == 310 ? 0 : until);
    s.ended(300, "a", 1, core);
    return why(s.returns(300, "a", user));
  };
  EXPECT_EQ(told("refused", "refused"), "");
  EXPECT_EQ(told("unavailable", "unavailable"), "");
  EXPECT_NE(told("refused", "unavailable"), "");
  EXPECT_NE(told("invalid_option", "invalid_option"), "");
  EXPECT_EQ(told("timed_out", "timed_out", 300), "");
  EXPECT_NE(told("refused", "refused", 300), "") << "one that waits is not refused";
  EXPECT_NE(told("configuration", "configuration"), "") << "no server said so";
}

TEST(CheckCalls, ADowngradeIsOneWriteInThePlaceOfItsCaller) {
  for (const bool is_one : {true, false}) {
    auto s = holds();
    s.calls(100, "a", "downgrade", 600, 1).ask(100, "a", 2);
    if (is_one) {
      s.hand_over(100, 150, "a", 1, 2, 200);
    } else {
      s.release(100, 120, "a", 1, 200).win(120, 150, "a", 2, 201);
    }
    EXPECT_EQ(why(s.returns(150, "a", "granted", 2, is_one ? 200 : 201)).empty(), is_one);
  }
}

TEST(CheckCalls, OneThatWasCancelledBeforeItAskedForAnythingIsCancelled) {
  auto s = one();
  EXPECT_EQ(why(s.calls(10, "a", "try_acquire", 500).returns(11, "a", "cancelled")), "");
  auto t = one();
  EXPECT_NE(why(t.calls(10, "a", "try_acquire", 500).returns(11, "a", "timed_out")), "");
}

TEST(CheckCalls, ACallReturnsUnlessItsProcessIsKilled) {
  auto never = one(), killed = one();
  EXPECT_NE(why(never.calls(10, "a", "try_acquire", 500)), "");
  killed.calls(10, "a", "try_acquire", 500).crash(400, "a");
  EXPECT_TRUE(judged_calls(killed).never_tested());
}

TEST(CheckCalls, AnAnswerMayBeMissingAfterAKill) {
  const auto kept = [](int since) {
    auto s = one();
    s.calls(10, "a", "acquire_async", 500).ask(10, "a", 1, 500).ended(500, "a", 1, "timed_out");
    // Its last own event tells until when it lived.
    s.dawdles(600, 690, "a").crash(700, "a").with([&](Event& e) { e.from_ns = since * kMs; });
    return judged(s.exact().end(9'000), Check::calls).violations;
  };
  EXPECT_EQ(kept(500), 0);
  EXPECT_EQ(kept(501), 1);
}

TEST(CheckCalls, NothingRemainsOfWhatIsNotHeld) {
  auto after_all = holds();
  EXPECT_NE(why(after_all.yes(21, 30, "a", 1).no(31, 32, "a", 1).until(1'010)), "");
}

}  // namespace
}  // namespace leasehold::model
