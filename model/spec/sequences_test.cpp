#include <gtest/gtest.h>

#include <algorithm>

#include "model/spec/lock.hpp"

/// The published sequence diagrams, replayed by the abstract lock: each message of the drawing is a
/// step that must be possible, in the drawing's order, with the drawing's outcome.
namespace leasehold::model {
namespace {

using namespace lock_world;
using Act = LockAct;

struct SequenceStep {
  enum Kind : std::uint8_t {
    sends_acquire,
    sends_extension,
    sends_delete,
    lock_acquired,      ///< the answer comes, and the client holds
    lock_not_acquired,  ///< the answer comes, and it waits
    extended,
    deleted,
    resource_accepts,
    resource_rejects,
    lease_runs_out  ///< nothing is sent until the primary finds the document expired
  };
  Kind kind;
  int client;
  const char* drawn;  ///< the diagram's own line
};

using Sequence = std::vector<SequenceStep>;

struct Performance {
  std::string stopped_at;   ///< the step that was not possible; empty: all were
  std::vector<int> tokens;  ///< of the grants, in their order; of our lock only their order counts
};

using Step = SequenceStep::Kind;

/// Two processes, one lock.
const Sequence kTwoProcesses{
    {Step::sends_acquire, 0, "PA->>DB: FindOneAndUpdateAsync (try acquire)"},
    {Step::lock_acquired, 0, "DB->>PA: Lock Acquired (lockId=UUID-A, token=1)"},
    {Step::sends_acquire, 1, "PB->>DB: FindOneAndUpdateAsync (try acquire)"},
    {Step::lock_not_acquired, 1, "DB->>PB: Lock Not Acquired"},
    {Step::sends_extension, 0, "PA->>DB: Update: Extend expiresAt += Expiry"},
    {Step::extended, 0, "DB->>PA: Extension Successful"},
    {Step::sends_acquire, 1, "PB->>DB: FindOneAndUpdateAsync (retry)"},
    {Step::lock_not_acquired, 1, "DB->>PB: Still held by A"},
    {Step::sends_delete, 0, "PA->>DB: Delete Lock Document"},
    {Step::deleted, 0, "DB->>PA: Deleted"},
    {Step::sends_acquire, 1, "PB->>DB: FindOneAndUpdateAsync (retry)"},
    {Step::lock_acquired, 1, "DB->>PB: Lock Acquired (lockId=UUID-B, token=2)"}};

/// Fencing at the resource: a holder that overslept its lease comes back.
const Sequence kFencing{
    {Step::sends_acquire, 0, "PA->>DB: Acquire Lock"},
    {Step::lock_acquired, 0, "DB->>PA: Granted"},
    {Step::resource_accepts, 0, "Resource->>Resource: Accept (token >= last_seen)"},
    {Step::lease_runs_out, 0, "Lock expires, B acquires"},
    {Step::sends_acquire, 1, "PB->>DB: Acquire Lock"},
    {Step::lock_acquired, 1, "DB->>PB: Granted"},
    {Step::resource_accepts, 1, "Resource->>Resource: Accept (token >= last_seen)"},
    {Step::resource_rejects, 0, "Resource->>Resource: Reject (token < last_seen)"}};

class Performer {
 public:
  explicit Performer(const Rules& rules) : scope_(quiet(rules)) {}

  /// Whether the step was possible and had the outcome drawn.
  bool take(const SequenceStep& drawn) {
    const int i = drawn.client;
    const Client& c = world_.client[i];
    switch (drawn.kind) {
      case Step::sends_acquire: return act(Act::attempt, i);
      case Step::sends_extension: return act(Act::extend, i);
      case Step::sends_delete: return act(Act::release, i);
      case Step::lock_acquired:
        if (!act(Act::execute, i) || !act(Act::deliver, i) || c.phase != kHeld) return false;
        tokens.push_back(tokens_are_orders(scope_) ? c.order : c.token);
        return true;
      case Step::lock_not_acquired:
        return act(Act::execute, i) && act(Act::deliver, i) && c.phase == kWaiting;
      case Step::extended:
        return act(Act::execute, i) && act(Act::deliver, i) && c.phase == kHeld && c.lease > 0;
      case Step::deleted: return act(Act::execute, i) && world_.document.owner == 0;
      case Step::resource_accepts: return resource_takes(world_, i, scope_);
      case Step::resource_rejects: return !resource_takes(world_, i, scope_);
      case Step::lease_runs_out: return run_out();
    }
    return false;
  }

  std::vector<int> tokens;

 private:
  static Scope quiet(const Rules& rules) {
    Scope scope;
    scope.rules = rules;
    scope.failovers = scope.crashes = scope.losses = scope.late_starts = false;
    return scope;
  }

  /// The first step of this kind. The world is not made canonical: tokens keep their numbers.
  bool act(Act kind, int client) {
    std::vector<LockAction> possible;
    actions(world_, scope_, possible);
    const auto found = std::find_if(possible.begin(), possible.end(), [&](const auto& action) {
      return action.act == kind && action.client == client;
    });
    if (found == possible.end()) return false;
    Labels labels;
    world_ = step(world_, *found, scope_, labels);
    return true;
  }

  bool run_out() {
    for (int i = 0; i < 16 && world_.document.until > kDue; ++i) act(Act::tick, 0);
    return world_.document.until <= kDue;
  }

  const Scope scope_;
  World world_;
};

/// Performs the sequence by a lock with these rules.
Performance perform(const Sequence& sequence, const Rules& rules) {
  Performer performer(rules);
  for (const auto& drawn : sequence) {
    if (!performer.take(drawn)) return {drawn.drawn, {}};
  }
  return {"", performer.tokens};
}

TEST(Sequences, TwoProcessesShareALockAsDrawn) {
  const auto ours = perform(kTwoProcesses, rules_of(Lock::leasehold));
  ASSERT_EQ(ours.stopped_at, "");
  ASSERT_EQ(ours.tokens.size(), 2u);
  EXPECT_GT(ours.tokens[1], ours.tokens[0]) << "the drawing's 1 and 2: greater";
}

TEST(Sequences, ThePackageRestartsItsTokenWhereTheDrawingSaysTwo) {
  const auto package = perform(kTwoProcesses, rules_of(Lock::distributed_lock));
  EXPECT_EQ(package.stopped_at, "");
  EXPECT_EQ(package.tokens, (std::vector<int>{1, 1}));
}

TEST(Sequences, TheResourceRejectsAHolderThatOversleptItsLease) {
  for (const Lock lock : {Lock::leasehold, Lock::distributed_lock}) {
    EXPECT_EQ(perform(kFencing, rules_of(lock)).stopped_at, "") << name_of(lock);
  }
}

TEST(Sequences, WithoutTokensTheResourceCannotReject) {
  EXPECT_EQ(perform(kFencing, rules_of(Lock::document_level)).stopped_at,
            "Resource->>Resource: Reject (token < last_seen)");
}

TEST(Sequences, AStepThatTheRulesForbidStopsTheStory) {
  Rules rules = rules_of(Lock::leasehold);
  rules.ignores_expiry = true;  // B takes what A holds
  EXPECT_EQ(perform(kTwoProcesses, rules).stopped_at, "DB->>PB: Lock Not Acquired");
}

}  // namespace
}  // namespace leasehold::model
