#include "model/spec/lock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace leasehold::model {
namespace {

using namespace lock_world;

constexpr Byte kA = 1, kB = kGenerations + 1;  // owners of the clients A and B

/// Two clients, A and B, each with messages in its first slot.
struct Played {
  Scope scope;
  Labels labels;
  World world;

  Client& a() { return world.client[0]; }
  void take(LockAct act, int client = 0) {
    world = step(world, {.act = act, .client = byte(client)}, scope, labels);
  }
  void reply_to_a(const Message& message) {
    a().message[0] = message;
    take(LockAct::deliver);
  }
  /// What the primary answers.
  Byte execute(int client, Byte slot, Byte owner) {
    world.client[client].message[0] = {.slot = slot, .owner = owner};
    take(LockAct::execute, client);
    return world.client[client].message[0].slot;
  }
  [[nodiscard]] std::string broken() const {
    const char* text = broken_in(world, scope);
    return text == nullptr ? "" : text;
  }
};

TEST(AbstractClient, AWinCountsFromTheSendingAndIsGivenBackWhenThatIsTooLongAgo) {
  Played s;
  s.take(LockAct::attempt);
  const Byte owner = s.a().owner;
  s.reply_to_a({.slot = kWon, .owner = owner, .order = 1, .age = 1});
  EXPECT_EQ(s.a().phase, kHeld);
  EXPECT_EQ(s.a().lease, kLease - 1);

  Played late;
  late.take(LockAct::attempt);
  late.reply_to_a({.slot = kWon, .owner = owner, .order = 1, .age = kLease});
  EXPECT_EQ(late.a().phase, kWaiting);
  EXPECT_EQ(late.a().to_delete, owner);
  EXPECT_EQ(late.a().owner, 0);  // its delete may arrive late, so the name is not used on
}

TEST(AbstractClient, AnExtensionNeverRevivesALostHandle) {
  Played s;
  s.a() = {.phase = kHeld, .owner = kA, .awaited = 1, .lease = 0};
  s.reply_to_a({.slot = kExtended, .owner = kA});
  EXPECT_EQ(s.a().lease, 0);
  s.scope.rules.late_extension_revives = true;
  s.a().awaited = 1;
  s.reply_to_a({.slot = kExtended, .owner = kA});
  EXPECT_EQ(s.broken(), "G5: held() of a lost handle was true again");
}

TEST(AbstractClient, KeepsTheAgeOfAnUnchangedSight) {
  Played s;
  const Message refusal{.slot = kRefused, .seen_owner = kB, .seen_beat = 3};
  s.take(LockAct::attempt);
  s.reply_to_a(refusal);
  s.a().sight_age = 1;
  s.take(LockAct::attempt);
  s.reply_to_a(refusal);
  EXPECT_EQ(s.a().sight_age, 1);
  Message renewed = refusal;
  renewed.seen_beat = 4;
  s.take(LockAct::attempt);
  s.reply_to_a(renewed);
  EXPECT_EQ(s.a().sight_age, 0);
}

TEST(AbstractClient, GivingUpWithoutAnAnswerLeavesADeleteToSend) {
  Played s;
  s.take(LockAct::attempt);
  const Byte owner = s.a().owner;
  s.take(LockAct::give_up);
  EXPECT_EQ(s.a().phase, kIdle);
  EXPECT_EQ(s.a().to_delete, owner);

  Played answered;
  answered.take(LockAct::attempt);
  answered.reply_to_a({.slot = kRefused, .seen_owner = kB});
  answered.take(LockAct::give_up);
  EXPECT_EQ(answered.a().to_delete, 0);
}

TEST(AbstractServer, GrantsAFreeLockAndRefusesTheNextWhoSeesTheHolder) {
  Played s;
  EXPECT_EQ(s.execute(0, kAcquire, kA), kWon);
  EXPECT_EQ(s.world.document.owner, kA);
  EXPECT_EQ(s.execute(1, kAcquire, kB), kRefused);
  EXPECT_EQ(s.world.client[1].message[0].seen_owner, kA);
}

TEST(AbstractServer, AFailoverTakesBackWhatNoMajorityHas) {
  Played s;
  s.execute(0, kAcquire, kA);
  EXPECT_EQ(s.a().message[0].committed, 0);
  Played kept = s;
  kept.take(LockAct::commit);
  EXPECT_EQ(kept.a().message[0].committed, 1);
  s.take(LockAct::failover);
  EXPECT_EQ(s.world.document.owner, 0);
  EXPECT_EQ(s.a().message[0].slot, kEmpty);  // no client learns of it
  kept.take(LockAct::failover);
  EXPECT_EQ(kept.world.document.owner, kA);
  EXPECT_EQ(kept.a().message[0].slot, kWon);
}

TEST(AbstractServer, AnExtensionOrADeleteOfAnothersOwnerChangesNothing) {
  Played s;
  s.execute(0, kAcquire, kA);
  EXPECT_EQ(s.execute(1, kExtend, kB), kNoMatch);
  s.execute(1, kDelete, kB);
  EXPECT_EQ(s.world.document.owner, kA);
  EXPECT_EQ(s.broken(), "");
}

TEST(AbstractServer, AGrantOverALeaseThatSomebodyCountsOnIsAViolation) {
  Played s;
  s.scope.rules.ignores_expiry = true;
  s.execute(0, kAcquire, kA);
  s.a() = {.phase = kHeld, .owner = kA, .lease = kLease};
  EXPECT_EQ(s.execute(1, kAcquire, kB), kWon);
  EXPECT_EQ(s.broken(), "G1: a lease was given to another before it ran out");
}

/// Every world within five steps, with all faults.
std::set<World> first_worlds(const Scope& scope) {
  std::set<World> all{World{}}, last = all;
  for (int n = 0; n < 5; ++n) {
    std::set<World> next;
    for (const World& world : last) {
      std::vector<LockAction> possible;
      Labels labels;
      actions(world, scope, possible);
      for (const LockAction action : possible) next.insert(step(world, action, scope, labels));
    }
    all.insert(next.begin(), next.end());
    last = std::move(next);
  }
  return all;
}

TEST(CanonicalWorld, IsTheSameWhateverTheClientsAreCalled) {
  const Scope scope{.clients = 3, .hand_overs = true, .queue = 2};
  const auto worlds = first_worlds(scope);
  std::set<World> canonicals;
  for (const World& world : worlds) {
    const World least = canonical(world, scope);
    canonicals.insert(least);
    ASSERT_EQ(canonical(least, scope), least);
    Order order{0, 1, 2};
    do {
      ASSERT_EQ(canonical(arranged(world, order), scope), least);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  // Three clients have six orders, and some worlds differ in what no step depends on.
  EXPECT_LE(canonicals.size() * 4, worlds.size());
}

}  // namespace
}  // namespace leasehold::model
