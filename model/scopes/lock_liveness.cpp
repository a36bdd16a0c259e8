#include "model/scopes/lock_liveness.hpp"

namespace leasehold::model {

using namespace lock_world;

namespace {

/// Whether an awaited request or reply is on its way: it takes less than a tick.
bool awaits_something(const World& w, const Scope& scope) {
  for (int i = 0; i < scope.clients; ++i) {
    const Client& c = w.client[i];
    if (c.awaited != 0 && c.message[c.awaited - 1].slot != kEmpty) return true;
    if (c.notice.owner != 0) return true;
  }
  return false;
}

}  // namespace

/// A client holds, waits, or is about to hear; else no client stands behind the document.
bool LockLiveness::pending_in(const World& w) const {
  bool waits = false, held = false, stood_behind = false;
  for (int i = 0; i < scope_.clients; ++i) {
    const Client& c = w.client[i];
    waits |= c.phase == kWaiting || c.phase == kAttempting;
    held |= c.phase == kHeld && c.lease > 0;
    stood_behind |= c.owner != 0 && c.owner == w.document.owner;
  }
  if (promise_ == Promise::passes_on) return waits && !held;
  return w.document.owner != 0 && !stood_behind;
}

bool LockLiveness::is_calm(const World& from, Action action) const {
  switch (action.act) {
    case LockAct::crash:
    case LockAct::lose:
    case LockAct::lose_notice:
    case LockAct::failover:
    case LockAct::execute_stale:
    case LockAct::give_up: return false;
    case LockAct::time_out: {  // only for messages that are lost already
      const Client& c = from.client[action.client];
      return c.message[c.awaited - 1].slot == kEmpty;
    }
    case LockAct::execute: return action.waited == 0;
    case LockAct::tick: return !awaits_something(from, scope_);
    default: return true;
  }
}

/// For G7 the pending state itself ends; for G8 the document goes or gets another owner.
bool LockLiveness::ends(const World& from, const World& to) const {
  return promise_ == Promise::cleans_up && to.document.owner != from.document.owner;
}

/// An idle client need not ask.
int LockLiveness::fair_kind(const World& from, LockSystem::Action action) {
  switch (action.act) {
    case LockAct::tick: return 0;
    case LockAct::commit: return 1;
    case LockAct::execute: return 2;
    case LockAct::deliver: return 3;
    case LockAct::attempt: return from.client[action.client].phase == kIdle ? -1 : 4;
    case LockAct::clean_up: return 5;
    case LockAct::release: return 6;
    case LockAct::ttl_pass: return 7;
    case LockAct::time_out: return 8;
    case LockAct::hear: return 9;
    default: return -1;
  }
}

}  // namespace leasehold::model
