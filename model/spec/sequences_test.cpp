#include <gtest/gtest.h>

#include <functional>

#include "model/spec/exploration.hpp"

/// The published sequence diagrams, replayed by the abstract lock: each message of the drawing is a
/// step that must be possible, in the drawing's order, with the drawing's outcome.
namespace leasehold::model {
namespace {

using namespace lock_world;
using Act = LockAct;

class Performer {
 public:
  explicit Performer(const Scope& scope) : scope_(scope) {}

  // The steps of the drawings: whether one was possible, and had the outcome that is drawn.
  bool sends_acquire(int i) { return act(Act::attempt, i); }
  bool sends_extension(int i) { return act(Act::extend, i); }
  bool sends_delete(int i) { return act(Act::release, i); }
  bool lock_acquired(int i) {
    if (!answered(i) || client(i).phase != kHeld) return false;
    tokens.push_back(tokens_are_orders(scope_) ? client(i).order : client(i).token);
    return true;
  }
  bool lock_not_acquired(int i) { return answered(i) && client(i).phase == kWaiting; }
  bool extended(int i) { return answered(i) && client(i).phase == kHeld && client(i).lease > 0; }
  bool deleted(int i) { return act(Act::execute, i) && world_.document.owner == 0; }
  bool resource_accepts(int i) { return resource_takes(world_, i, scope_); }
  bool resource_rejects(int i) { return !resource_takes(world_, i, scope_); }
  /// Nothing is sent until the primary finds the document expired.
  bool lease_runs_out(int i) {
    for (int n = 0; n < 16 && world_.document.until > kDue; ++n) act(Act::tick, i);
    return world_.document.until <= kDue;
  }

  /// The first step of this kind that leads there. The world is not made canonical: tokens keep
  /// their numbers.
  bool act(Act kind, int client, const std::function<bool(const World&)>& wanted = {}) {
    std::vector<LockAction> possible;
    actions(world_, scope_, possible);
    for (const LockAction action : possible) {
      if (action.act != kind || action.client != client) continue;
      Labels labels;
      const World to = step(world_, action, scope_, labels);
      if (wanted && !wanted(to)) continue;
      world_ = to;
      return true;
    }
    return false;
  }
  bool answered(int i) { return act(Act::execute, i) && act(Act::deliver, i); }
  [[nodiscard]] const Client& client(int i) const { return world_.client[i]; }

  std::vector<int> tokens;  ///< of the grants, in their order; of our lock only their order counts

 private:
  const Scope scope_;
  World world_;
};
using P = Performer;

struct SequenceStep {
  bool (Performer::*step)(int client);
  int client;
  const char* drawn;  ///< the diagram's own line
};
using Sequence = std::vector<SequenceStep>;

/// Two processes, one lock.
const Sequence kTwoProcesses{
    {&P::sends_acquire, 0, "PA->>DB: FindOneAndUpdateAsync (try acquire)"},
    {&P::lock_acquired, 0, "DB->>PA: Lock Acquired (lockId=UUID-A, token=1)"},
    {&P::sends_acquire, 1, "PB->>DB: FindOneAndUpdateAsync (try acquire)"},
    {&P::lock_not_acquired, 1, "DB->>PB: Lock Not Acquired"},
    {&P::sends_extension, 0, "PA->>DB: Update: Extend expiresAt += Expiry"},
    {&P::extended, 0, "DB->>PA: Extension Successful"},
    {&P::sends_acquire, 1, "PB->>DB: FindOneAndUpdateAsync (retry)"},
    {&P::lock_not_acquired, 1, "DB->>PB: Still held by A"},
    {&P::sends_delete, 0, "PA->>DB: Delete Lock Document"},
    {&P::deleted, 0, "DB->>PA: Deleted"},
    {&P::sends_acquire, 1, "PB->>DB: FindOneAndUpdateAsync (retry)"},
    {&P::lock_acquired, 1, "DB->>PB: Lock Acquired (lockId=UUID-B, token=2)"}};

/// Fencing at the resource: a holder that overslept its lease comes back.
const Sequence kFencing{
    {&P::sends_acquire, 0, "PA->>DB: Acquire Lock"},
    {&P::lock_acquired, 0, "DB->>PA: Granted"},
    {&P::resource_accepts, 0, "Resource->>Resource: Accept (token >= last_seen)"},
    {&P::lease_runs_out, 0, "Lock expires, B acquires"},
    {&P::sends_acquire, 1, "PB->>DB: Acquire Lock"},
    {&P::lock_acquired, 1, "DB->>PB: Granted"},
    {&P::resource_accepts, 1, "Resource->>Resource: Accept (token >= last_seen)"},
    {&P::resource_rejects, 0, "Resource->>Resource: Reject (token < last_seen)"}};

struct Performance {
  std::string stopped_at;  ///< the step that was not possible; empty: all were
  std::vector<int> tokens;
};

/// Performs the sequence by this lock, without faults.
Performance perform(const Sequence& sequence, Lock lock) {
  Scope scope{.rules = rules_of(lock)};
  scope.failovers = scope.crashes = scope.losses = scope.late_starts = false;
  Performer performer(scope);
  for (const auto& drawn : sequence) {
    if (!(performer.*drawn.step)(drawn.client)) return {drawn.drawn, {}};
  }
  return {"", performer.tokens};
}

TEST(Sequences, TwoProcessesShareALockAsDrawn) {
  const auto ours = perform(kTwoProcesses, Lock::leasehold);
  ASSERT_EQ(ours.stopped_at, "");
  ASSERT_EQ(ours.tokens.size(), 2u);
  EXPECT_GT(ours.tokens[1], ours.tokens[0]) << "the drawing's 1 and 2: greater";
}

TEST(Sequences, ThePackageRestartsItsTokenWhereTheDrawingSaysTwo) {
  const auto package = perform(kTwoProcesses, Lock::distributed_lock);
  EXPECT_EQ(package.stopped_at, "");
  EXPECT_EQ(package.tokens, (std::vector<int>{1, 1}));
}

TEST(Sequences, TheResourceRejectsAHolderThatOversleptItsLease) {
  for (const Lock lock : {Lock::leasehold, Lock::distributed_lock}) {
    EXPECT_EQ(perform(kFencing, lock).stopped_at, "") << name_of(lock);
  }
}

TEST(Sequences, WithoutTokensTheResourceCannotReject) {
  EXPECT_EQ(perform(kFencing, Lock::document_level).stopped_at,
            "Resource->>Resource: Reject (token < last_seen)");
}

/// Measured: a command that writes nothing is answered where nothing waits for a majority.
TEST(Sequences, AStalePrimaryRefusesAndSaysWhoHeld) {
  Performer p(scope_named("stale-primary")->scope);
  for (const Act act : {Act::attempt, Act::execute, Act::commit, Act::deliver, Act::failover}) {
    ASSERT_TRUE(p.act(act, 0));
  }
  ASSERT_TRUE(p.act(Act::attempt, 1));
  ASSERT_TRUE(p.act(Act::execute_stale, 1, [](const World& to) {
    const Message& answer = to.client[1].message[0];
    return answer.slot == kRefused && answer.seen_owner != 0;
  }));
  ASSERT_TRUE(p.act(Act::deliver, 1));
  EXPECT_EQ(p.client(1).phase, kWaiting);
  EXPECT_EQ(p.client(1).sight_owner, p.client(0).owner);
}

}  // namespace
}  // namespace leasehold::model
