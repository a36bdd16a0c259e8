#include "model/abstract/lock_server.hpp"

#include <gtest/gtest.h>

#include "model/abstract/lock_violation.hpp"

namespace leasehold::model {
namespace {

using namespace lock_world;

/// Two clients, A and B; a request of one is executed by the primary.
struct Served {
  Scope scope;
  arrow::Log arrows;
  LockServer server{scope, arrows};
  World world;

  Message& request(int client, Byte slot, Byte owner) {
    Message& m = world.client[client].message[0];
    m = {.slot = slot, .owner = owner};
    return m;
  }
  Byte execute(int client) {
    server.execute(world, client, 0, {});
    return world.client[client].message[0].slot;
  }
};

constexpr Byte kA = 1, kB = kGenerations + 1;

TEST(LockServer, GrantsAFreeLockAndRefusesTheNextWhoSeesTheHolder) {
  Served s;
  s.request(0, kAcquire, kA);
  EXPECT_EQ(s.execute(0), kWon);
  EXPECT_EQ(s.world.document.owner, kA);
  s.request(1, kAcquire, kB);
  EXPECT_EQ(s.execute(1), kRefused);
  EXPECT_EQ(s.world.client[1].message[0].seen_owner, kA);
}

TEST(LockServer, AFailoverTakesBackWhatNoMajorityHas) {
  Served s;
  s.request(0, kAcquire, kA);
  s.execute(0);
  EXPECT_EQ(s.world.client[0].message[0].committed, 0);
  World kept = s.world;
  LockServer::commit(kept);
  EXPECT_EQ(kept.client[0].message[0].committed, 1);
  s.server.fail_over(s.world);
  EXPECT_EQ(s.world.document.owner, 0);
  EXPECT_EQ(s.world.client[0].message[0].slot, kEmpty);  // nobody hears of it
  s.server.fail_over(kept);
  EXPECT_EQ(kept.document.owner, kA);
  EXPECT_EQ(kept.client[0].message[0].slot, kWon);
}

TEST(LockServer, AnExtensionOrADeleteOfAnothersOwnerChangesNothing) {
  Served s;
  s.request(0, kAcquire, kA);
  s.execute(0);
  s.request(1, kExtend, kB);
  EXPECT_EQ(s.execute(1), kNoMatch);
  s.request(1, kDelete, kB);
  s.execute(1);
  EXPECT_EQ(s.world.document.owner, kA);
  EXPECT_EQ(s.world.violation, kNoViolation);
}

TEST(LockServer, AGrantOverALeaseThatSomebodyCountsOnIsAViolation) {
  Served s;
  s.scope.rules.ignores_expiry = true;
  s.request(0, kAcquire, kA);
  s.execute(0);
  s.world.client[0] = {.phase = kHeld, .owner = kA, .lease = kLease};
  s.request(1, kAcquire, kB);
  EXPECT_EQ(s.execute(1), kWon);
  EXPECT_EQ(s.world.violation, kGivenAway);
}

}  // namespace
}  // namespace leasehold::model
