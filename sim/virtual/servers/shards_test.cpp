#include "sim/virtual/servers/shards.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/virtual/servers/stamp_test.hpp"

namespace leasehold::sim::simulated {
namespace {

/// Two shards, and the places of the writes that a majority of the right one has.
struct Cluster {
  Cluster() { run_ms(300); }

  EventQueue queue;
  Random random{1};
  std::vector<Timestamp> places;
  std::vector<Object> replies;
  Shards servers{queue, random, {}, {[this](const Entry& entry) {
                   if (!entry.change.id.empty()) places.push_back(entry.time);
                 }}, 1};

  void write() {
    servers.command(0, {.command = std::make_shared<const Object>(stamp())},
                    [this](ServerAnswer, const Object& reply) { replies.push_back(reply); });
  }
  /// Whether it moved, once that is decided.
  std::optional<bool> move(std::int64_t span_ms) {
    std::optional<bool> found;
    EXPECT_TRUE(servers.move(span_ms * kMs, [&found](bool moved) { found = moved; }));
    while (!found && queue.step()) {
    }
    return found;
  }
  void set_clock(int member, std::int64_t ahead_ms) {
    servers.all(&ReplicaSet::set_clock, member, ahead_ms, 0);
  }
  void run_ms(std::int64_t ms) { simulated::run_ms(queue, ms); }
  [[nodiscard]] Timestamp time(std::size_t reply) const { return time_of(replies.at(reply)); }
  [[nodiscard]] Timestamp cluster_time(std::size_t reply) const {
    const auto* known = replies.at(reply).find("$clusterTime")->as<Object>();
    return *known->find("clusterTime")->as<Timestamp>();
  }
};

/// The taker's clock is half a minute behind: its cluster time alone is not.
TEST(Shards, ATokenIsThePlaceOfItsWriteAndRisesOverMoves) {
  Cluster cluster;
  cluster.set_clock(1, -30'000);
  std::size_t ahead = 0;
  for (int i = 0; i < 60; ++i) {
    if (i % 10 == 9) {
      EXPECT_EQ(cluster.move(10), true);
    }
    cluster.write();
    cluster.run_ms(20);
  }
  ASSERT_EQ(cluster.replies.size(), 60u);
  ASSERT_EQ(cluster.places.size(), 60u) << "copies are no writes of a lock";
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(cluster.time(i), cluster.places[i]);
    if (i > 0) {
      EXPECT_GT(cluster.time(i), cluster.time(i - 1));
    }
    ahead += cluster.cluster_time(i) > cluster.time(i) ? 1 : 0;
  }
  EXPECT_GT(ahead, 40u) << "a router knows of other writes";
}

TEST(Shards, NowIsTheClockOfAnyRouter) {
  Cluster cluster;
  for (int member = 0; member < 3; ++member) cluster.set_clock(member, member * 10'000);
  cluster.run_ms(3'000);  // one that jumped stands for election
  std::set<std::int64_t> clocks;
  for (int i = 0; i < 60; ++i) {
    const auto before = cluster.servers.serving().clock_ms(0);
    cluster.write();
    cluster.run_ms(10);
    clocks.insert(stamped_ms(cluster.replies.back()) - before);
  }
  EXPECT_EQ(clocks, (std::set<std::int64_t>{0, 10'000, 20'000}));
}

/// With $$NOW of its arrival at a router.
TEST(Shards, ACommandDuringAMoveIsExecutedOnceByTheReceivingShard) {
  Cluster cluster;
  cluster.write();
  cluster.run_ms(10);
  std::optional<bool> moved;
  cluster.servers.move(200 * kMs, [&moved](bool found) { moved = found; });
  const auto arrived = cluster.servers.serving().clock_ms(0);
  cluster.write();
  cluster.run_ms(190);
  EXPECT_EQ(cluster.replies.size(), 1u);
  cluster.run_ms(100);
  EXPECT_EQ(moved, true);
  ASSERT_EQ(cluster.replies.size(), 2u);
  EXPECT_EQ(stamped_ms(cluster.replies[1]), arrived);
  EXPECT_EQ(cluster.places.size(), 2u);
  EXPECT_EQ(cluster.servers.stale_routers(), 1);
}

TEST(Shards, WithoutItsPrimaryAMoveEndsAndTheOldShardGoesOn) {
  Cluster cluster;
  cluster.queue.after(50 * kMs, [&] { cluster.servers.serving().step_down_primary(); });
  EXPECT_EQ(cluster.move(100), false);
  EXPECT_FALSE(cluster.servers.move(1, [](bool) {})) << "there is no primary";
  cluster.run_ms(3'000);
  cluster.write();
  cluster.run_ms(100);
  ASSERT_EQ(cluster.replies.size(), 1u);
  EXPECT_EQ(cluster.time(0), cluster.places.at(0));
  EXPECT_EQ(cluster.servers.stale_routers(), 0);
}

/// A primary that no majority follows gives nothing away: another may have been elected.
TEST(Shards, AnOldPrimaryGivesNothingAway) {
  Cluster cluster;
  cluster.servers.all(&ReplicaSet::set_link, 0, 1, false);
  cluster.servers.all(&ReplicaSet::set_link, 0, 2, false);
  EXPECT_EQ(cluster.move(10), false);
}

}  // namespace
}  // namespace leasehold::sim::simulated
