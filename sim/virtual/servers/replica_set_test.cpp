#include "sim/virtual/servers/replica_set.hpp"

#include <gtest/gtest.h>

#include "core/protocol.hpp"
#include "mongo/commands.hpp"
#include "sim/virtual/servers/stamp_test.hpp"

namespace leasehold::sim::simulated {
namespace {

/// Three members, what a majority has of them, and what clients were answered. The settings are the
/// defaults: a beat each 200 ms, elections after 1 s. Member 0 is primary.
struct Set {
  explicit Set(const ServerSettings& settings = {})
      : servers(queue, random, settings, {[this](const Entry& entry) {
          if (entry.fenced) committed.push_back(entry.fenced->token);
          if (!entry.change.id.empty() && !entry.change.after) gone.push_back(entry.time);
        }}) {}

  /// To the fence: it stands for any majority write, and what a majority has shows by its tokens.
  void write(int member, std::int64_t token) {
    const FencedWrite one{"r", "p", "o", token, token};
    servers.fenced_write(member, std::make_shared<const FencedWrite>(one),
                         [this](ServerAnswer answer, const Object& reply) {
                           const bool clean = answer == ServerAnswer::reply &&
                                              reply.find("ok")->truth() &&
                                              reply.find("writeConcernError") == nullptr;
                           answers.push_back(clean ? "acknowledged" : "not");
                         });
  }
  void ask(int member, const Object& command, std::int64_t waits_ms = 0) {
    const auto sent = std::make_shared<const Object>(command);
    servers.command(member, {.command = sent, .waits_ns = waits_ms * kMs},
                    [this](ServerAnswer answer, const Object& reply) {
                      kinds.push_back(answer);
                      replies.push_back(reply);
                    });
  }
  void run_ms(std::int64_t ms) { simulated::run_ms(queue, ms); }

  EventQueue queue;
  Random random{1};
  std::vector<std::int64_t> committed;
  std::vector<Timestamp> gone;
  ReplicaSet servers;
  std::vector<std::string> answers;
  std::vector<Object> replies;
  std::vector<ServerAnswer> kinds;
};

/// The giver's clock is a minute ahead, and no router brings its cluster time along.
TEST(ReplicaSet, AReceivingShardWritesLaterThanTheDonor) {
  Set giver, taker;
  giver.run_ms(300);
  taker.run_ms(300);
  giver.servers.set_clock(0, 60'000, 0);
  giver.ask(0, stamp());
  giver.run_ms(10);
  taker.servers.receive(giver.servers);
  taker.ask(0, stamp());
  taker.run_ms(10);
  ASSERT_EQ(taker.replies.size(), 1u);
  EXPECT_GT(time_of(taker.replies[0]), time_of(giver.replies[0]));
}

using Body = decltype(core::Command::body);

Object as_sent(const Body& body) {
  return to_object(*mongo::build({1, std::chrono::seconds(10), body}, "locks").get());
}

/// If the lock is held it is queued for twice its lease.
Object attempt_of(core::Owner owner, std::uint64_t beat, std::chrono::milliseconds lease) {
  const auto id = core::format_lock_id({owner, lease.count(), beat});
  const std::chrono::milliseconds margin(500);
  return as_sent(core::AcquireCommand{1, "l", owner, id, {}, lease, margin, 2 * lease});
}

TEST(ReplicaSet, AGrantLastsAWholeLeaseFromTheAttemptThatItNames) {
  const core::Owner giver{1, 1}, receiver{2, 2}, other{3, 3};
  constexpr std::chrono::milliseconds kLease{3'000};
  Set set;
  set.ask(0, attempt_of(giver, 1, 10 * kLease));
  set.ask(0, attempt_of(receiver, 1, kLease));
  set.run_ms(10);
  // Its $$NOW is of now. The receiver's next attempt comes and goes while it waits inside.
  set.ask(0, as_sent(core::PassOnCommand{"l", giver}), 4'000);
  set.run_ms(3'900);
  set.ask(0, attempt_of(receiver, 2, kLease));
  set.run_ms(kLease.count() - 10);
  // The receiver relies on it for a moment yet.
  set.ask(0, attempt_of(other, 1, kLease));
  set.run_ms(10);
  ASSERT_EQ(set.replies.size(), 5u);
  const auto after = *set.replies.back().find("value")->as<Object>()->find("lockId");
  EXPECT_TRUE(after.as<std::string>()->starts_with(core::to_hex(receiver) + ".3000.2~"))
      << *after.as<std::string>();
}

/// Whoever cannot reach it knows of no primary, for none was elected yet.
TEST(ReplicaSet, AStoppedPrimaryIsSentToAndWhatItGotBreaksWithItsDeath) {
  Set set;
  set.servers.stop(0);
  EXPECT_EQ(set.servers.primary_for({true, true, true}), 0);
  EXPECT_EQ(set.servers.primary_for({false, true, true}), -1);
  EXPECT_EQ(set.servers.primary(), -1);
  set.ask(0, stamp());
  set.servers.kill(0);
  EXPECT_EQ(set.kinds, (std::vector{ServerAnswer::broken}));
}

Object make_index(std::int32_t after_s) {
  const Object index = make({{"key", make({{"at", std::int32_t{1}}})},
                             {"name", std::string("ttl")},
                             {"expireAfterSeconds", after_s}});
  const Object concern = make({{"w", std::string("majority")}, {"wtimeout", std::int32_t{500}}});
  return make({{"createIndexes", std::string("locks")},
               {"indexes", Array{{index}}},
               {"writeConcern", concern}});
}

/// Measured on 7.0.11: one oplog entry, so one time, for all that a pass deletes.
TEST(ReplicaSet, ATtlMonitorThatDeletesAtOnceGivesAllDeletionsOneTime) {
  for (const bool at_once : {false, true}) {
    Set set({.ttl_deletes_at_once = at_once});
    set.ask(0, make_index(0));
    for (const char* id : {"a", "b", "c"}) set.ask(0, stamp(id));
    set.run_ms(5'000);
    ASSERT_EQ(set.gone.size(), 3u);
    EXPECT_EQ(set.gone[0] == set.gone[2], at_once);
    EXPECT_EQ(set.gone[0] == set.gone[1], at_once);
  }
}

/// With its data it is a member like any other: at the end it and one more are the majority.
TEST(ReplicaSet, AWipedMemberIsNotElectedBeforeItsInitialSync) {
  Set set;
  set.write(0, 1);
  set.run_ms(300);
  set.servers.kill(1);
  set.servers.wipe(1);
  set.servers.set_link(0, 1, false);
  set.servers.restart(1);
  set.run_ms(300);
  EXPECT_TRUE(set.servers.copies());
  set.servers.step_up(1);
  EXPECT_EQ(set.servers.primary(), 0);
  set.servers.set_link(0, 1, true);
  set.run_ms(300);
  EXPECT_FALSE(set.servers.copies());
  set.servers.kill(0);
  set.servers.kill(2);
  set.servers.restart(2);
  set.run_ms(3'000);
  const int primary = set.servers.primary();
  ASSERT_GT(primary, 0);
  set.write(primary, 2);
  set.run_ms(100);
  EXPECT_EQ(set.committed, (std::vector<std::int64_t>{1, 2}));
}

/// A real set does the same: those that copy vote.
/// A write that was acknowledged is lost: why two lost disks break an assumption of the README.
TEST(ReplicaSet, ALaggardIsElectedByThoseThatLostTheirData) {
  Set set;
  set.run_ms(300);
  set.servers.set_link(2, 0, false);
  set.servers.set_link(2, 1, false);
  set.write(0, 7);
  set.run_ms(5);
  EXPECT_EQ(set.answers, (std::vector<std::string>{"acknowledged"}));
  for (const int m : {0, 1}) {
    set.servers.kill(m);
    set.servers.wipe(m);
    set.servers.restart(m);
    set.servers.set_link(2, m, true);
  }
  set.run_ms(3'000);
  EXPECT_EQ(set.servers.primary(), 2);
  set.write(2, 3);  // refused if the 7 were there
  set.run_ms(100);
  EXPECT_EQ(set.committed, (std::vector<std::int64_t>{7, 3}));
}

/// As when an administrator has changed it: a provider that starts must not change it back.
TEST(ReplicaSet, AnIndexOfOtherOptionsIsRefusedAndStays) {
  Set set;
  set.ask(0, make_index(0));
  set.servers.set_ttl_index(TtlIndex{"at", 3'600});
  set.ask(0, make_index(0));
  set.run_ms(100);
  ASSERT_EQ(set.replies.size(), 2u);
  const bool second_is_refused = set.replies[0].find("code") != nullptr;  // at once
  EXPECT_EQ(set.replies[second_is_refused ? 0 : 1].find("code")->integer(), 85);
  EXPECT_EQ(set.servers.ttl_index()->after_s, 3'600);
}

TEST(ReplicaSet, ADroppedCollectionTakesItsIndexWithIt) {
  Set set;
  set.ask(0, make_index(0));
  set.ask(0, stamp());
  set.run_ms(100);
  ASSERT_TRUE(set.servers.drop_locks());
  EXPECT_FALSE(set.servers.ttl_index());
  set.run_ms(100);
  set.ask(0, stamp());
  set.run_ms(100);
  EXPECT_EQ(*set.replies.back().find("lastErrorObject")->as<Object>()->find("updatedExisting"),
            Value(false));
  EXPECT_EQ(set.servers.delete_lock(5), "l");
  EXPECT_EQ(set.servers.delete_lock(5), "");
}

}  // namespace
}  // namespace leasehold::sim::simulated
