#include "sim/virtual/members.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::simulated {
namespace {

TEST(MemberClock, IsOffAndDriftsFromWhenItWasSet) {
  MemberClock clock;
  EXPECT_EQ(clock.shown(5 * kMs), 5 * kMs);
  clock.set(1'000 * kMs, -30, 500);
  EXPECT_EQ(clock.shown(1'000 * kMs), 970 * kMs);
  EXPECT_EQ(clock.shown(11'000 * kMs), 10'975 * kMs);  // 500 ppm of 10 s are 5 ms
  clock.set(11'000 * kMs, 0, 0);
  EXPECT_EQ(clock.shown(12'000 * kMs), 12'000 * kMs);
}

/// The members alone: nobody beats, so the queue holds what a test asks for and no more.
struct Ground {
  EventQueue queue;
  Members members{queue, {}};
  std::vector<std::string> seen;

  void note_at_wall(int member, std::int64_t wall_ms) {
    members.at_wall(member, wall_ms * kMs, [this] {
      seen.push_back("at " + std::to_string(queue.now() / kMs));
    });
  }
  void run() {
    while (queue.step()) {
    }
  }
};

TEST(Members, AClockThatGoesBackMakesAWaitLongerAndOneThatGoesForwardNotShorter) {
  Ground g;
  g.note_at_wall(0, 100);
  g.note_at_wall(1, 100);
  g.members[0].clock.set(0, -50, 0);
  g.members[1].clock.set(0, 50, 0);
  g.run();
  EXPECT_EQ(g.seen, (std::vector<std::string>{"at 100", "at 150"}));
}

TEST(Members, AStoppedMemberDoesItWhenItGoesOnAndADeadOneNever) {
  Ground g;
  g.note_at_wall(0, 100);
  g.note_at_wall(1, 100);
  g.members[0].running = false;
  ++g.members[1].life;
  g.run();
  EXPECT_TRUE(g.seen.empty());
  ASSERT_EQ(g.members[0].held_back.size(), 1u);
  g.members[0].running = true;
  g.members[0].held_back[0].run();
  EXPECT_EQ(g.seen, (std::vector<std::string>{"at 100"}));
}

TEST(Members, WhoLeavesOfficeAnswersThoseWhoWaitedForAMajority) {
  Ground g;
  g.members[0].waiters.push_back({1, 1, {}, [&](ServerAnswer answer, const Object& reply) {
                                    EXPECT_EQ(answer, ServerAnswer::reply);
                                    EXPECT_NE(reply.find("writeConcernError"), nullptr);
                                    g.seen.push_back("interrupted");
                                  }});
  g.members.leave_office(0);
  EXPECT_EQ(g.seen, (std::vector<std::string>{"interrupted"}));
  EXPECT_FALSE(g.members[0].is_primary);
  EXPECT_TRUE(g.members[0].waiters.empty());
}

}  // namespace
}  // namespace leasehold::sim::simulated
