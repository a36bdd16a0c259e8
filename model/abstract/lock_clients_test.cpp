#include "model/abstract/lock_clients.hpp"

#include <gtest/gtest.h>

#include "model/abstract/lock_violation.hpp"

namespace leasehold::model {
namespace {

using namespace lock_world;

/// A client, A, to which replies come in its first slot.
struct Asking {
  Scope scope;
  arrow::Log arrows;
  LockClients clients{scope, arrows};
  World world;

  Client& a() { return world.client[0]; }
  void reply(const Message& message) {
    a().message[0] = message;
    clients.deliver(world, 0, 0);
  }
};

TEST(LockClients, AWinCountsFromTheSendingAndIsGivenBackWhenThatIsTooLongAgo) {
  Asking s;
  s.clients.attempt(s.world, 0, 0);
  const Byte owner = s.a().owner;
  s.reply({.slot = kWon, .owner = owner, .order = 1, .age = 1});
  EXPECT_EQ(s.a().phase, kHeld);
  EXPECT_EQ(s.a().lease, kLease - 1);

  Asking late;
  late.clients.attempt(late.world, 0, 0);
  late.reply({.slot = kWon, .owner = owner, .order = 1, .age = kLease});
  EXPECT_EQ(late.a().phase, kWaiting);
  EXPECT_EQ(late.a().to_delete, owner);
  EXPECT_EQ(late.a().owner, 0);  // its delete may arrive late, so the name is not used on
}

TEST(LockClients, AnExtensionNeverRevivesALostHandle) {
  Asking s;
  s.a() = {.phase = kHeld, .owner = 1, .awaited = 1, .lease = 0};
  s.reply({.slot = kExtended, .owner = 1});
  EXPECT_EQ(s.a().lease, 0);
  s.scope.rules.late_extension_revives = true;
  s.a().awaited = 1;
  s.reply({.slot = kExtended, .owner = 1});
  EXPECT_EQ(s.world.violation, kRevived);
}

TEST(LockClients, WhatItSawBeforeItGoesOnSeeing) {
  Asking s;
  const Message refusal{.slot = kRefused, .seen_owner = 9, .seen_beat = 3};
  s.clients.attempt(s.world, 0, 0);
  s.reply(refusal);
  s.a().sight_age = 1;
  s.clients.attempt(s.world, 0, 0);
  s.reply(refusal);
  EXPECT_EQ(s.a().sight_age, 1);
  Message renewed = refusal;
  renewed.seen_beat = 4;
  s.clients.attempt(s.world, 0, 0);
  s.reply(renewed);
  EXPECT_EQ(s.a().sight_age, 0);
}

TEST(LockClients, WhoGivesUpWithoutAnAnswerHasToCleanUp) {
  Asking s;
  s.clients.attempt(s.world, 0, 0);
  const Byte owner = s.a().owner;
  s.clients.give_up(s.world, 0);
  EXPECT_EQ(s.a().phase, kIdle);
  EXPECT_EQ(s.a().to_delete, owner);

  Asking answered;
  answered.clients.attempt(answered.world, 0, 0);
  answered.reply({.slot = kRefused, .seen_owner = 9});
  answered.clients.give_up(answered.world, 0);
  EXPECT_EQ(answered.a().to_delete, 0);
}

}  // namespace
}  // namespace leasehold::model
