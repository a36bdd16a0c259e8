#include "model/scopes/sequences.hpp"

#include <algorithm>
#include <optional>

namespace leasehold::model {

using namespace lock_world;
using Step = SequenceStep::Kind;

const Sequence& two_processes() {
  static const Sequence sequence{
      "two processes, one lock",
      {{Step::sends_acquire, 0, "PA->>DB: FindOneAndUpdateAsync (try acquire)"},
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
       {Step::lock_acquired, 1, "DB->>PB: Lock Acquired (lockId=UUID-B, token=2)"}}};
  return sequence;
}

const Sequence& fencing() {
  static const Sequence sequence{
      "fencing at the resource",
      {{Step::sends_acquire, 0, "PA->>DB: Acquire Lock"},
       {Step::lock_acquired, 0, "DB->>PA: Granted"},
       {Step::resource_accepts, 0, "Resource->>Resource: Accept (token >= last_seen)"},
       {Step::lease_runs_out, 0, "Lock expires, B acquires"},
       {Step::sends_acquire, 1, "PB->>DB: Acquire Lock"},
       {Step::lock_acquired, 1, "DB->>PB: Granted"},
       {Step::resource_accepts, 1, "Resource->>Resource: Accept (token >= last_seen)"},
       {Step::resource_rejects, 0, "Resource->>Resource: Reject (token < last_seen)"}}};
  return sequence;
}

namespace {

using Act = LockSystem::Act;

class Performer {
 public:
  explicit Performer(const Rules& rules) : scope_(quiet(rules)), system_(scope_) {}

  /// Whether the step was possible and had the outcome drawn.
  bool take(const SequenceStep& step) {
    const int i = step.client;
    const Client& c = world_.client[i];
    switch (step.kind) {
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

  /// The first step of this kind. The world is not tidied: tokens keep their numbers.
  bool act(Act kind, int client) {
    LockSystem::Out next;
    system_.steps(world_, next);
    const auto found = std::find_if(next.begin(), next.end(), [&](const auto& step) {
      return step.second.act == kind && step.second.client == client;
    });
    if (found == next.end()) return false;
    world_ = found->first;
    return true;
  }

  bool run_out() {
    for (int i = 0; i < 16 && world_.document.until > kDue; ++i) act(Act::tick, 0);
    return world_.document.until <= kDue;
  }

  const Scope scope_;
  const LockSystem system_;
  World world_;
};

}  // namespace

Performance perform(const Sequence& sequence, const Rules& rules) {
  Performer performer(rules);
  Performance result;
  for (const auto& step : sequence.steps) {
    if (performer.take(step)) continue;
    result.why = step.drawn;
    return result;
  }
  result.possible = true;
  result.tokens = performer.tokens;
  return result;
}

}  // namespace leasehold::model
