#include "sim/virtual/servers/replication.hpp"

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
  g.members.at(0).clock.set(0, -50, 0);
  g.members.at(1).clock.set(0, 50, 0);
  g.run();
  EXPECT_EQ(g.seen, (std::vector<std::string>{"at 100", "at 150"}));
}

TEST(Members, AStoppedMemberDoesItWhenItGoesOnAndADeadOneNever) {
  Ground g;
  g.note_at_wall(0, 100);
  g.note_at_wall(1, 100);
  g.members.at(0).running = false;
  ++g.members.at(1).life;
  g.run();
  EXPECT_TRUE(g.seen.empty());
  ASSERT_EQ(g.members.at(0).held_back.size(), 1u);
  g.members.at(0).running = true;
  g.members.at(0).held_back[0].run();
  EXPECT_EQ(g.seen, (std::vector<std::string>{"at 100"}));
}

TEST(Members, SteppingDownInterruptsMajorityWaits) {
  Ground g;
  g.members.at(0).waiters.push_back({1, 1, {}, [&](ServerAnswer answer, const Object& reply) {
                                    EXPECT_EQ(answer, ServerAnswer::reply);
                                    EXPECT_NE(reply.find("writeConcernError"), nullptr);
                                    g.seen.push_back("interrupted");
                                  }});
  g.members.leave_office(0);
  EXPECT_EQ(g.seen, (std::vector<std::string>{"interrupted"}));
  EXPECT_FALSE(g.members.at(0).is_primary);
  EXPECT_TRUE(g.members.at(0).waiters.empty());
}

/// Nobody beats here either: the primary sends what is new when a test says so.
struct Way {
  EventQueue queue;
  std::vector<std::int64_t> behind_ms;
  Replication set{queue, {}, {.on_followed = [this](std::int64_t since) {
                            behind_ms.push_back((queue.now() - since) / kMs);
                          }}};

  void run_ms(std::int64_t ms) {
    bool over = false;
    queue.after(ms * kMs, [&over] { over = true; });
    while (!over && queue.step()) {
    }
  }
  void send_news(int from) {
    set.send_news(from);
    run_ms(5);
  }
};

TEST(Replication, AMemberThatFailedToFetchAsksItsSourceAgainAfterTenSeconds) {
  Way way;
  way.run_ms(1'000);
  for (const int member : {1, 2}) way.set.fail_fetch(member, 0);
  way.set.write(0, note_in_oplog());
  way.run_ms(9'990);
  way.send_news(0);
  EXPECT_EQ(way.set.at(0).data.committed(), 0u);
  EXPECT_EQ(way.set.behind_since(), 1'000 * kMs);
  way.run_ms(10);
  way.send_news(0);
  EXPECT_EQ(way.set.at(0).data.committed(), 1u);
  EXPECT_EQ(way.set.behind_since(), 0);
  EXPECT_EQ(way.behind_ms, (std::vector<std::int64_t>{10'006}));
}

TEST(Replication, AMemberShunsTheSourceThatItFailedToAskAndNoOther) {
  Way way;
  for (const int member : {1, 2}) way.set.fail_fetch(member, 0);
  way.set.at(0).is_primary = false;
  way.set.at(1).is_primary = true;
  way.set.at(1).term = 2;
  way.set.write(1, note_in_oplog());
  way.send_news(1);
  EXPECT_EQ(way.set.at(1).data.committed(), 1u);
}

}  // namespace
}  // namespace leasehold::sim::simulated
