#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckFence, AHolderCountsFromTheGrantThatItHeardOf) {
  auto history = good().end(9'000);
  // c's owner had won before b, unheard: its first put is earlier in the server's order.
  Event unheard;
  unheard.kind = Kind::put;
  unheard.at_ns = 425 * kMs;
  unheard.name = "lock";
  unheard.order = 125;
  unheard.lock_id = HistoryBuilder::owner("c", 1) + ".1000.99";
  history.push_back(unheard);
  sort_by_time(history);
  EXPECT_EQ(find(judge(history, {}), Check::G3).verdict == Verdict::violated, false);
}

TEST(CheckFence, ARefusedStaleWriteIsRight) {
  HistoryBuilder s = good();
  s.write(2'540, 2'550, "a", 1, "refused");
  const auto f = judged(s, Check::G3);
  EXPECT_EQ(f.verdict, Verdict::holds);
  EXPECT_EQ(f.counts.at("stale_writes_refused"), 1);
}

/// c's held() was true until 2'479, whatever deadline the core had noted.
TEST(CheckFence, TheCurrentHolderIsWhoWasToldThatItHolds) {
  const auto refused = [](auto wanted) {
    HistoryBuilder s = good();
    auto history = s.write(2'400, 2'410, "c", 1, "refused").end(9'000);
    std::erase_if(history, [&](const Event& e) { return e.process == "c" && wanted(e); });
    for (auto& e : history) {
      if (e.kind == Kind::granted) e.deadline_ns -= 200 * kMs;
    }
    return find(judge(history, {}), Check::G3).verdict;
  };
  EXPECT_EQ(refused([](const Event&) { return false; }), Verdict::violated);
  EXPECT_NE(refused([](const Event& e) { return e.kind == Kind::held; }), Verdict::violated);

  HistoryBuilder unasked = good();
  unasked.start(4, "e").ask(2'700, "e", 1).win(4'600, 4'610, "e", 1, 190);
  unasked.write(4'620, 4'630, "e", 1, "refused").release(4'640, 4'650, "e", 1, 200);
  EXPECT_EQ(judged(unasked, Check::G3).verdict, Verdict::holds);
  EXPECT_EQ(judged(unasked.yes(4'611, 4'635, "e", 1), Check::G3).verdict, Verdict::violated);
}

}  // namespace
}  // namespace leasehold::model
