#include "model/lock_system.hpp"

#include <algorithm>
#include <stdexcept>

#include "model/lock_arrows.hpp"
#include "model/lock_violation.hpp"

namespace leasehold::model {

using namespace lock_world;

namespace {

int free_slot(const Client& c, const Scope& scope) {
  for (int k = 0; k < scope.messages; ++k) {
    if (c.message[k].slot == kEmpty && c.awaited != k + 1) return k;
  }
  return -1;
}

}  // namespace

LockSystem::LockSystem(const Scope& scope) : scope_(scope) {
  if (scope.clients * scope.messages > 4 || (scope.clients > 2 && scope.stale_primary)) {
    throw std::invalid_argument(
        "a scope has at most 4 messages, and 2 clients beside a stale primary");
  }
  if (scope.queue < 0 || scope.queue > kMaxPlaces) {
    throw std::invalid_argument("a queue has at most 2 places");
  }
}

void LockSystem::violate(World& w, int violation) const {
  const bool first = w.violation == kNoViolation;
  if (first && looks_at(kBroken[violation].guarantee)) w.violation = byte(violation);
}

bool LockSystem::holds(const World& w, int i) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  if (c.phase != kHeld && c.phase != kReleasing) return false;
  if (c.phase == kReleasing && !rules.held_until_release_answered) return false;
  return !rules.has_deadline || c.lease > 0;
}

/// It holds within its lease, or will when it hears what a majority has or may still get.
bool LockSystem::counts_on_a_lease(const World& w, int i) const {
  const Client& c = w.client[i];
  if (c.phase == kHeld && c.lease > 0) return true;
  if (c.waits() && c.notice.owner == c.owner && c.owner != 0 && c.notice.age < kLease) return true;
  if (c.awaited == 0) return false;
  const Message& m = c.message[c.awaited - 1];
  if (m.slot == kExtended && c.phase == kHeld) return c.lease > 0;
  return m.slot == kWon && m.age < kLease;
}

void LockSystem::steps(const World& w, Out& out) const {
  world_steps(w, out);
  for (int i = 0; i < scope_.clients; ++i) {
    client_steps(w, i, out);
    if (scope_.queue > 0) queue_steps(w, i, out);
    for (int k = 0; k < scope_.messages; ++k) message_steps(w, i, k, out);
  }
}

void LockSystem::world_steps(const World& w, Out& out) const {
  const auto go = [&](Act act, auto change) {
    change(out.emplace_back(w, Action{act, 0, 0, 0}).first);
  };
  go(Act::tick, [this](World& n) {
    run_out(n);
    age(n, scope_);
  });
  if (w.dirty != 0) {
    go(Act::commit, [](World& n) {
      n.dirty = 0;
      for (Client& c : n.client) {
        for (Message& m : c.message) m.committed |= byte(is_reply(m.slot) ? 1 : 0);
        c.notice.committed = c.notice.owner != 0 ? 1 : 0;
      }
    });
  }
  if (scope_.failovers) go(Act::failover, [this](World& n) { fail_over(n); });
  if (w.stale_runs != 0) go(Act::step_down, [](World& n) { n.stale_runs = 0; });
  if (scope_.ttl_passes && w.document.owner != 0 && w.document.until <= kDue) {
    go(Act::ttl_pass, [this](World& n) {
      took(arrow::ttl());
      const Document before = n.document;
      if (n.dirty == 0) n.committed_clock = n.clock;
      n.document = {};
      wrote(n, before);
    });
  }
}

/// What ends with the next tick.
void LockSystem::run_out(const World& w) const {
  for (const Client& c : w.client) {
    if (c.phase == kHeld && c.lease == 1) {
      took(c.awaited == 0 ? arrow::lease_ran_out() : arrow::extension_failed());
    }
  }
  if (w.document.owner != 0 && w.document.until == kDue + 1) {
    took(is_extending(w, w.document.owner) ? arrow::document_ran_out_extending()
                                           : arrow::document_ran_out());
  }
}

void LockSystem::fail_over(World& w) const {
  w.second ^= 1;
  w.since_failover = 0;
  if (scope_.stale_primary) {
    w.stale_runs = 1;
    w.stale = w.document;
  }
  w.stale_clock = w.clock;
  if (w.dirty != 0) {  // what no majority had is rolled back
    w.document = w.committed;
    w.clock = w.committed_clock;
  }
  w.dirty = 0;
  if (w.document.owner != 0) {
    const int until = w.document.until + (w.second != 0 ? -scope_.skew : scope_.skew);
    w.document.until = byte(std::max(until, 0));
    for (Entry& entry : w.document.waiting) {
      const int left = entry.left + (w.second != 0 ? -scope_.skew : scope_.skew);
      if (entry.owner != 0) entry.left = byte(std::clamp(left, 0, kPlace + 1));
    }
  }
  for (int i = 0; i < scope_.clients; ++i) {
    Notice& notice = w.client[i].notice;
    if (notice.committed == 0 && scope_.rules.majority) notice = {};
    for (Message& m : w.client[i].message) {
      if (is_reply(m.slot) && m.committed == 0 && rules_for(scope_, i).majority) m = {};
    }
  }
}

void LockSystem::client_steps(const World& w, int i, Out& out) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const auto go = [&](Act act, auto change) {
    World& next = out.emplace_back(w, Action{act, byte(i), 0, 0}).first;
    change(next, next.client[i]);
  };
  if (scope_.crashes && (c.phase == kHeld || c.phase == kAttempting)) {
    go(Act::crash, [](World&, Client& nc) {
      Client gone;
      std::copy(std::begin(nc.message), std::end(nc.message), gone.message);
      nc = gone;
    });
  }
  const int k = free_slot(c, scope_);
  if (c.to_delete != 0 && k >= 0) {
    go(Act::clean_up, [&](World&, Client& nc) {
      nc.message[k] = {.slot = kDelete, .owner = nc.to_delete};
      nc.to_delete = 0;
      if (nc.phase != kIdle) return;
      nc.message[k].seen_owner = nc.giver;
      nc.giver = 0;
    });
  }
  const bool cleans_up_first = c.phase == kIdle && c.giver != 0;
  if ((c.phase == kIdle || c.phase == kWaiting) && !cleans_up_first && k >= 0 &&
      fresh_owner(w, i, scope_) != 0) {
    go(Act::attempt, [&](World& n, Client&) { attempt(n, i, k); });
  }
  if (c.phase == kAttempting || (c.phase == kHeld && c.awaited != 0)) {
    go(Act::time_out, [&](World&, Client& nc) {
      if (nc.phase == kAttempting) {
        took(arrow::acquire_unknown());
        nc.phase = kWaiting;
        nc.doubtful = nc.owner;
      } else {
        took(nc.lease > 0 ? arrow::extension_unknown() : arrow::extension_failed());
        if (rules.unknown_extension_moves_deadline) nc.lease = kLease;
      }
      nc.awaited = 0;
    });
  }
  // Between two attempts of which each was answered there is nothing to clean up.
  if (c.phase == kAttempting || c.phase == kWaiting) {
    const bool unsure = c.phase == kAttempting || c.doubtful != 0 || c.giver != 0;
    if (unsure && rules.cleans_up && c.to_delete != 0) return;
    go(Act::give_up, [&](World&, Client& nc) {
      took(nc.phase == kWaiting ? arrow::give_up_waiting() : arrow::give_up_attempting());
      if (unsure && rules.cleans_up) nc.to_delete = nc.owner;
      nc.phase = kIdle;
      nc.awaited = nc.owner = nc.doubtful = nc.attempt_beat = 0;
    });
  }
  if (c.phase == kHeld) holder_steps(w, i, k, out);
  if (scope_.hand_overs && c.phase == kHeld && holds(w, i)) hand_over_steps(w, i, out);
}

/// A release that gives the lock to another call of the process, in one command.
void LockSystem::hand_over_steps(const World& w, int i, Out& out) const {
  for (int j = 0; j < scope_.clients; ++j) {
    const Client& to = w.client[j];
    const int k = free_slot(to, scope_);
    const bool waits = to.phase == kIdle || to.phase == kWaiting;
    const bool has_owner = to.phase == kWaiting && to.owner != 0;
    if (j == i || is_package(scope_, j) || !waits || k < 0 || to.giver != 0) continue;
    if (!has_owner && fresh_owner(w, j, scope_) == 0) continue;
    World& next = out.emplace_back(w, Action{Act::hand_over, byte(i), byte(k), byte(j)}).first;
    Client& from = next.client[i];
    Client& receiver = next.client[j];
    if (!has_owner) receiver.owner = fresh_owner(w, j, scope_);
    receiver.phase = kAttempting;
    receiver.awaited = byte(k + 1);
    receiver.giver = from.owner;
    receiver.message[k] = {
        .slot = kHandOver, .owner = receiver.owner, .seen_owner = receiver.giver};
    took(arrow::hand_over());
    if (!rules_for(scope_, i).hands_over_while_held) {
      from.awaited = 0;
      end_holding(from);
    }
  }
}

void LockSystem::holder_steps(const World& w, int i, int k, Out& out) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const auto go = [&](Act act, auto change) {
    change(out.emplace_back(w, Action{act, byte(i), byte(k), 0}).first.client[i]);
  };
  if (k < 0) return;
  if (rules.extends && c.awaited == 0 && holds(w, i)) {
    go(Act::extend, [&](Client& n) {
      took(arrow::extension_sent());
      n.message[k] = {.slot = kExtend, .owner = n.owner};
      n.awaited = byte(k + 1);
    });
  }
  go(Act::release, [&](Client& n) {
    took(holds(w, i) ? (c.awaited == 0 ? arrow::release() : arrow::release_while_extending())
                     : arrow::release_lost());
    n.message[k] = {.slot = kDelete, .owner = n.owner};
    n.awaited = 0;
    if (rules.held_until_release_answered) {
      n.phase = kReleasing;
      n.awaited = byte(k + 1);
      return;
    }
    if (rules.passes_on_while_held) return;
    end_holding(n);
  });
}

void LockSystem::attempt(World& w, int i, int k) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const bool asks = c.phase == kIdle;
  if (asks) {
    took(arrow::create_lock());
    c.attempt_beat = 0;
  }
  took(arrow::attempt());
  took(asks ? arrow::first_attempt() : arrow::next_attempt());
  const bool fresh = (asks && rules.owner != Rules::Owner::per_process) ||
                     rules.owner == Rules::Owner::per_attempt || c.owner == 0;
  if (rules.owner == Rules::Owner::per_process) {
    c.owner = byte(i * kGenerations + 1);
  } else if (fresh) {
    c.owner = fresh_owner(w, i, scope_);
  }
  if (fresh) c.enlisted = 0;
  const bool first = fresh || rules.grant_counts == Rules::GrantCounts::from_newest_renewal;
  if (first && rules.grant_counts != Rules::GrantCounts::from_last_read) c.counted = 0;
  Message m{.slot = c.enlisted != 0 ? kRenewal : kAcquire, .owner = c.owner};
  if (c.giver != 0) {  // sent again as such
    c.phase = kAttempting;
    c.awaited = byte(k + 1);
    c.message[k] = {.slot = kHandOver, .owner = c.owner, .seen_owner = c.giver};
    return;
  }
  if (rules.beat == Rules::Beat::kept_by_retries) {
    if (c.attempt_beat == 0) c.attempt_beat = 7;
    m.beat = c.attempt_beat;
  }
  // A lease and the margin against drift, on a clock that runs one tick ahead.
  const int must_see = kLease - (rules.observer_keeps_drift_margin ? 0 : 1);
  if (rules.observes && c.sight_owner != 0 && c.sight_age >= must_see) {
    m.seen_owner = c.sight_owner;
    m.seen_beat = c.sight_beat;
  }
  c.phase = kAttempting;
  c.awaited = byte(k + 1);
  c.message[k] = m;
}

void LockSystem::message_steps(const World& w, int i, int k, Out& out) const {
  const Client& c = w.client[i];
  const Message& m = c.message[k];
  if (m.slot == kEmpty) return;
  const Rules& rules = rules_for(scope_, i);
  const auto go = [&](Act act, int waited, auto change) {
    change(out.emplace_back(w, Action{act, byte(i), byte(k), byte(waited)}).first);
  };
  if (!is_reply(m.slot)) {
    const bool reads_clock = m.slot != kDelete || scope_.queue > 0;
    const int longest = std::min(m.age, w.since_failover);
    for (int waited = 0; waited <= (scope_.late_starts && reads_clock ? longest : 0); ++waited) {
      go(Act::execute, waited, [&](World& n) { execute(n, i, k, false, waited, false); });
    }
    if (rules.lock != Lock::leasehold && rules.lock != Lock::distributed_lock &&
        m.slot == kAcquire) {
      go(Act::execute, 0, [&](World& n) { execute(n, i, k, false, 0, true); });
    }
    if (w.stale_runs != 0 && !rules.majority) {
      go(Act::execute_stale, 0, [&](World& n) { execute(n, i, k, true, 0, false); });
    } else if (w.stale_runs != 0) {
      std::vector<Message> answers{{}};
      answers_by_stale(w, rules, m, answers);
      for (const Message& answer : answers) {
        go(Act::execute_stale, 0, [&](World& n) { n.client[i].message[k] = answer; });
      }
    }
    if (rules.token == Rules::Token::cluster_time && m.slot == kAcquire && m.token == 0) {
      go(Act::start, 0, [&](World& n) { n.client[i].message[k].token = next_order(n); });
    }
  }
  const bool awaited = c.awaited == k + 1;
  if (scope_.losses && !(scope_.losses_late && awaited)) {
    go(Act::lose, 0, [&](World& n) { n.client[i].message[k] = {}; });
  }
  if (is_reply(m.slot) && (m.committed != 0 || !rules.majority)) {
    go(Act::deliver, 0, [&](World& n) { deliver(n, i, k); });
  }
}

bool LockSystem::resource_takes(const World& w, int client) const {
  const Client& c = w.client[client];
  return tokens_are_orders(scope_) ? c.order >= w.top_order : c.token >= w.top_token;
}

const char* LockSystem::broken_in(const World& w) const {
  if (w.violation != kNoViolation) return kBroken[w.violation].text;
  int holders = 0;
  const int ours = scope_.clients - (scope_.dotnet ? 1 : 0);
  for (int i = 0; i < ours; ++i) {
    const Client& c = w.client[i];
    const bool holding = holds(w, i);
    holders += holding ? 1 : 0;
    if (holding && c.due == 0 && looks_at(Guarantee::G5)) return kBroken[kHeldTooLong].text;
    if (c.phase != kHeld || c.order >= w.top_order || !looks_at(Guarantee::G3)) continue;
    if (resource_takes(w, i)) return kBroken[kFenceOrder].text;
    if (holding && c.lease > 0 && looks_at(Guarantee::G1)) return kBroken[kFenceRefused].text;
  }
  return holders > 1 && looks_at(Guarantee::G2) ? "G2: held() was true for two clients at once"
                                                : nullptr;
}

Judgement LockSystem::judge(const State& state) const {
  const World w = unpack(state, scope_);
  return {.broken = broken_in(w), .reached = reached_in(w)};
}

}  // namespace leasehold::model
