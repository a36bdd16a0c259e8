#include "model/guarantees/checker_stories.hpp"

namespace leasehold::model {
namespace {

/// The core's own deadline does not count where it is later than the lease.
TEST(CheckLossTold, TheLeaseIsCountedFromItsSendingByTheModel) {
  auto s = a_holds().with([](Event& grant) { grant.deadline_ns += 90 * kMs; });
  s.yes(21, 1'099, "a", 1).lose(1'100, "a", 1).notified(1'100, "a", 1);
  EXPECT_EQ(judged(s.end(9'000), Check::G5).verdict, Verdict::violated);
}

TEST(CheckLossTold, ALossThatWasNoneIsViolated) {
  auto released = holder().release(600, 610, "a", 1, 110).notified(1'010, "a", 1);
  EXPECT_EQ(judged(released, Check::G5).verdict, Verdict::violated);
}

TEST(CheckLossTold, APausedProcessIsToldWhenItRuns) {
  HistoryBuilder late = holder(), notified = holder();
  for (HistoryBuilder* s : {&late, &notified})
    s->pause(500, "a").resume(3'000, "a").lose(3'040, "a", 1);
  const auto f = judged(notified.notified(3'050, "a", 1), Check::G5);
  EXPECT_EQ(f.violations, 0) << f.why;
  EXPECT_EQ(f.excused[static_cast<std::size_t>(Excuse::pause)], 1);
  EXPECT_EQ(judged(late.notified(3'500, "a", 1), Check::G5).verdict, Verdict::violated);
}

TEST(CheckLossTold, ALateNotificationIsUnknownInAStallOfTheMachineNotOfAMember) {
  const auto with = [](const char* who) {
    return judged(holder().lose(1'011, "a", 1).notified(1'800, "a", 1).stall(1'000, 1'900, who),
                  Check::G5);
  };
  const auto f = with(kMachine);
  EXPECT_EQ(f.verdict, Verdict::unknown);
  EXPECT_NE(f.why.find("the machine stalled 890.0 ms: lock 'lock': a was notified"),
            std::string::npos)
      << f.why;
  EXPECT_EQ(f.excused[0], 1) << kExcuses[0];
  EXPECT_EQ(f.checked, 0);
  EXPECT_EQ(with("member-0").verdict, Verdict::violated);
}

/// Found by a soak: the harness learned of the death seconds after it.
TEST(CheckLossTold, AHolderKilledBeforeItsNextSignOfLifeNeedNotBeTold) {
  EXPECT_NE(judged(holder().crash(2'000, "a"), Check::G5).verdict, Verdict::violated);
  auto alive = holder().ask(1'900, "a", 2).crash(2'000, "a");
  EXPECT_EQ(judged(alive, Check::G5).verdict, Verdict::violated);
}

}  // namespace
}  // namespace leasehold::model
