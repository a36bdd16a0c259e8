#include "model/lock_system.hpp"

#include <algorithm>
#include <stdexcept>

#include "model/lock_arrows.hpp"

namespace leasehold::model {

using namespace lock_world;

namespace {

enum Violation : Byte {
  kNoViolation,
  kGivenAway,
  kForeignTaken,
  kFenceOrder,
  kFenceRefused,
  kToken,
  kRevived,
  kOwnership,
  kUnrecognised
};
struct Broken {
  int guarantee;
  const char* text;
};
constexpr Broken kBroken[] = {
    {0, ""},
    {1, "G1: a lease was given to another before it ran out"},
    {1, "G1: a lock of the .NET package was taken before its expiresAt"},
    {3, "G3: the resource takes a write of an earlier holder after one of a later"},
    {3, "G3: the resource refuses its current holder"},
    {4, "G4: a token did not rise"},
    {5, "G5: a lost handle believed again"},
    {6, "G6: another's lock was touched"},
    {7, "G7: a retry did not recognise its own win"}};

/// Whether an extension of this owner is on its way.
bool is_extending(const World& w, Byte owner) {
  const Client& c = w.client[client_of(owner)];
  return std::any_of(std::begin(c.message), std::end(c.message),
                     [owner](const Message& m) { return m.slot == kExtend && m.owner == owner; });
}

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
}

void LockSystem::violate(World& w, int violation) const {
  if (looks_at(kBroken[violation].guarantee) && w.violation == kNoViolation)
    w.violation = byte(violation);
}

bool LockSystem::believes(const World& w, int i) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  if (c.phase != kHeld && c.phase != kReleasing) return false;
  if (c.phase == kReleasing && !rules.believes_until_release_answered) return false;
  return !rules.has_deadline || c.lease > 0;
}

/// It believes within its lease, or will when it is told what a majority has or may still get.
bool LockSystem::counts_on_a_lease(const World& w, int i) const {
  const Client& c = w.client[i];
  if (c.phase == kHeld && c.lease > 0) return true;
  if (c.awaited == 0) return false;
  const Message& m = c.message[c.awaited - 1];
  if (m.slot == kExtended && c.phase == kHeld) return c.lease > 0;
  return m.slot == kWon && m.age < kLease;
}

int LockSystem::margin(const Rules& rules, bool extension) const {
  if (rules.margin == Rules::Margin::in_document) return scope_.clock_margin;
  return rules.margin == Rules::Margin::not_in_extensions && !extension ? scope_.clock_margin : 0;
}

int LockSystem::waiter_margin(const Rules& rules) const {
  return rules.margin == Rules::Margin::by_waiter ? scope_.clock_margin : 0;
}

Byte LockSystem::token_of(const Client& c) const {
  return tokens_are_orders(scope_) ? c.order : c.token;
}

/// The lowest token that a primary which counts by this clock may give next.
Byte LockSystem::next_token(World& w, Byte World::*clock) const {
  const auto spread = [](Byte& token) { token = byte(2 * token); };
  for (Byte* token : {&w.top_token, &w.clock, &w.committed_clock, &w.stale_clock}) spread(*token);
  for (Client& c : w.client) {
    spread(c.token);
    for (Message& m : c.message) spread(m.token);
  }
  return ++(w.*clock);
}

Byte LockSystem::next_order(const World& w) const {
  Byte greatest = w.top_order;
  for (int i = 0; i < scope_.clients; ++i) {
    const Client& c = w.client[i];
    greatest = std::max(greatest, c.order);
    for (int k = 0; k < scope_.messages; ++k) {
      greatest = std::max({greatest, c.message[k].order});
      if (scope_.rules.token == Rules::Token::cluster_time) {
        greatest = std::max(greatest, c.message[k].token);
      }
    }
  }
  return byte(greatest + 1);
}

void LockSystem::steps(const World& w, Out& out) const {
  world_steps(w, out);
  for (int i = 0; i < scope_.clients; ++i) {
    client_steps(w, i, out);
    for (int k = 0; k < scope_.messages; ++k) message_steps(w, i, k, out);
  }
}

void LockSystem::world_steps(const World& w, Out& out) const {
  const auto go = [&](Act act, auto change) {
    World next = w;
    change(next);
    out.emplace_back(next, Action{act, 0, 0, 0});
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
  }
  for (int i = 0; i < scope_.clients; ++i) {
    for (Message& m : w.client[i].message) {
      if (is_reply(m.slot) && m.committed == 0 && rules_for(scope_, i).majority) m = {};
    }
  }
}

void LockSystem::client_steps(const World& w, int i, Out& out) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const auto go = [&](Act act, auto change) {
    World next = w;
    change(next, next.client[i]);
    out.emplace_back(next, Action{act, byte(i), 0, 0});
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
    });
  }
  if ((c.phase == kIdle || c.phase == kWaiting) && k >= 0 && fresh_owner(w, i) != 0) {
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
    const bool unsure = c.phase == kAttempting || c.doubtful != 0;
    if (unsure && rules.cleans_up && c.to_delete != 0) return;
    go(Act::give_up, [&](World&, Client& nc) {
      took(nc.phase == kWaiting ? arrow::give_up_waiting() : arrow::give_up_attempting());
      if (unsure && rules.cleans_up) nc.to_delete = nc.owner;
      nc.phase = kIdle;
      nc.awaited = nc.owner = nc.doubtful = nc.attempt_beat = 0;
    });
  }
  if (c.phase == kHeld) holder_steps(w, i, k, out);
}

void LockSystem::holder_steps(const World& w, int i, int k, Out& out) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const auto go = [&](Act act, auto change) {
    World next = w;
    change(next.client[i]);
    out.emplace_back(next, Action{act, byte(i), byte(k), 0});
  };
  if (k < 0) return;
  if (rules.extends && c.awaited == 0 && believes(w, i)) {
    go(Act::extend, [&](Client& n) {
      took(arrow::extension_sent());
      n.message[k] = {.slot = kExtend, .owner = n.owner};
      n.awaited = byte(k + 1);
    });
  }
  go(Act::release, [&](Client& n) {
    took(believes(w, i) ? (c.awaited == 0 ? arrow::release() : arrow::release_while_extending())
                        : arrow::release_lost());
    n.message[k] = {.slot = kDelete, .owner = n.owner};
    n.awaited = 0;
    if (rules.believes_until_release_answered) {
      n.phase = kReleasing;
      n.awaited = byte(k + 1);
      return;
    }
    n.phase = kIdle;
    n.owner = n.lease = n.token = n.order = n.doubtful = n.attempt_beat = 0;
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
    c.owner = fresh_owner(w, i);
  }
  Message m{.slot = kAcquire, .owner = c.owner};
  if (rules.beat == Rules::Beat::kept_by_retries) {
    if (c.attempt_beat == 0) c.attempt_beat = 7;
    m.beat = c.attempt_beat;
  }
  // A lease and the margin against drift, on a clock that runs one tick ahead.
  const int patience = kLease - (rules.observer_keeps_drift_margin ? 0 : 1);
  if (rules.observes && c.sight_owner != 0 && c.sight_age >= patience) {
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
    World next = w;
    change(next);
    out.emplace_back(next, Action{act, byte(i), byte(k), byte(waited)});
  };
  if (!is_reply(m.slot)) {
    const bool reads_clock = m.slot != kDelete;
    const int longest = std::min(m.age, w.since_failover);
    for (int waited = 0; waited <= (scope_.late_starts && reads_clock ? longest : 0); ++waited) {
      go(Act::execute, waited, [&](World& n) { execute(n, i, k, false, waited, false); });
    }
    if (rules.lock != Lock::leasehold && rules.lock != Lock::distributed_lock &&
        m.slot == kAcquire) {
      go(Act::execute, 0, [&](World& n) { execute(n, i, k, false, 0, true); });
    }
    if (w.stale_runs != 0) {
      go(Act::execute_stale, 0, [&](World& n) { execute(n, i, k, true, 0, false); });
    }
    if (rules.token == Rules::Token::cluster_time && m.slot == kAcquire && m.token == 0) {
      go(Act::start, 0, [&](World& n) { n.client[i].message[k].token = next_order(n); });
    }
  }
  if (scope_.losses) go(Act::lose, 0, [&](World& n) { n.client[i].message[k] = {}; });
  if (is_reply(m.slot) && (m.committed != 0 || !rules.majority)) {
    go(Act::deliver, 0, [&](World& n) { deliver(n, i, k); });
  }
}

void LockSystem::execute(World& w, int i, int k, bool stale, int waited, bool clock_off) const {
  Message& m = w.client[i].message[k];
  Document& d = stale ? w.stale : w.document;
  const Document before = d;
  if (w.dirty == 0) w.committed_clock = w.clock;
  switch (m.slot) {
    case kAcquire: execute_acquire(w, i, m, d, waited, clock_off); break;
    case kExtend: execute_extend(w, i, m, d, waited); break;
    default: execute_delete(w, i, m, d); break;
  }
  const bool changed = d.owner != before.owner || d.beat != before.beat ||
                       d.until != before.until || m.slot == kWon || m.slot == kExtended;
  m.beat = 0;
  if (stale) {  // no majority will ever have it: nobody is answered who waits for one
    if (rules_for(scope_, i).majority) m = {};
    return;
  }
  if (changed && m.slot != kRefused && m.slot != kNoMatch) wrote(w, before);
  // A reply, of a refusal too, waits until a majority has the newest write.
  m.committed = w.dirty == 0 ? 1 : 0;
}

/// The document changed from `before`: until a majority has it, a successor may not.
void LockSystem::wrote(World& w, const Document& before) const {
  if (!scope_.failovers) return;
  if (w.dirty == 0) w.committed = before;
  w.dirty = 1;
}

/// Our lease was given to client i: did somebody else still count on it?
void LockSystem::check_grant(World& w, int i, const Document& before) const {
  for (int j = 0; j < scope_.clients; ++j) {
    if (j == i) continue;
    if (is_package(scope_, j)) {
      const bool held = before.owner != 0 && client_of(before.owner) == j;
      if (held && before.until > kDue) violate(w, kForeignTaken);
    } else if (counts_on_a_lease(w, j)) {
      violate(w, kGivenAway);
    }
  }
}

void LockSystem::execute_acquire(World& w, int i, Message& m, Document& d, int waited,
                                 bool clock_off) const {
  const Rules& rules = rules_for(scope_, i);
  const bool stale = &d == &w.stale;
  const bool there = d.owner != 0;
  const bool ours = there && d.owner == m.owner;
  const bool foreign = there && is_package(scope_, client_of(d.owner));
  const bool owner_seen = d.owner == m.seen_owner || !rules.compares_seen_owner;
  const bool beat_seen = d.beat == m.seen_beat || !rules.compares_seen_beat;
  const bool dead = m.seen_owner != 0 && there && owner_seen && beat_seen;
  const int left = d.until - kDue + waiter_margin(rules);
  // A client's wall clock that is ahead finds things expired; one that is behind writes early
  // dates.
  const bool expired =
      rules.ignores_expiry || (rules.expiry == Rules::Expiry::server_clock && left <= -waited) ||
      (rules.expiry == Rules::Expiry::client_clock && left <= (clock_off ? scope_.skew : 0));
  if (there && !ours && !dead && !expired) {
    took(arrow::held());
    const Client& holder = w.client[client_of(d.owner)];
    const Message* answer = holder.awaited == 0 ? nullptr : &holder.message[holder.awaited - 1];
    if (answer != nullptr && answer->slot == kWon && answer->age < m.age) took(arrow::raced());
    const Client& c = w.client[i];
    const bool awaited = c.awaited != 0 && &c.message[c.awaited - 1] == &m;
    if (awaited && d.owner == c.doubtful && !is_package(scope_, i)) violate(w, kUnrecognised);
    const Byte owner = d.owner, beat = d.beat;
    m.slot = rules.checks_the_winner ? kRefused : kWon;
    m.seen_owner = rules.checks_the_winner && rules.observes && (!foreign || rules.observes_foreign)
                       ? owner
                       : Byte{0};
    m.seen_beat = m.seen_owner != 0 ? beat : Byte{0};
    if (m.slot == kWon) m.token = m.order = next_order(w);
    return;
  }
  if (!stale && !ours) check_grant(w, i, d);
  const bool wall = rules.lock == Lock::insert_unique || rules.lock == Lock::set_on_insert;
  int until = kDue - waited + kLease + margin(rules, false) - (wall && clock_off ? scope_.skew : 0);
  if (ours && rules.never_lowers_expiry) until = std::max(until, int{d.until});
  const int counter = !there ? 1 : std::min(d.counter + (ours ? 0 : 1), 7);
  const bool counts = scope_.rules.token == Rules::Token::counter;
  const int kept = rules.beat == Rules::Beat::counted_in_document       ? (ours ? d.beat + 1 : 1)
                   : rules.beat == Rules::Beat::restarted_by_extensions ? 1
                   : rules.beat == Rules::Beat::kept_by_retries         ? int{m.beat}
                                                                        : 7;
  took(arrow::written());
  took(!there                     ? (w.top_order != 0 ? arrow::inserted_again() : arrow::inserted())
       : !ours                    ? arrow::taken_over()
       : is_extending(w, d.owner) ? arrow::own_retry_while_extending()
                                  : arrow::own_retry());
  d = {m.owner, byte(std::min(kept, 7)), byte(std::max(until, 0)), byte(counts ? counter : 0)};
  const Byte read = m.token;  // of the cluster time, where the command has done so
  m.slot = kWon;
  m.order = next_order(w);
  m.token = 0;
  if (rules.token == Rules::Token::counter) m.token = d.counter;
  if (rules.token == Rules::Token::cluster_time) m.token = read != 0 ? read : m.order;
  if (rules.token == Rules::Token::operation_time && scope_.stale_primary) {
    m.token = next_token(w, stale ? &World::stale_clock : &World::clock);
  }
  m.seen_owner = m.seen_beat = 0;
}

void LockSystem::execute_extend(World& w, int i, Message& m, Document& d, int waited) const {
  const Rules& rules = rules_for(scope_, i);
  const bool there = d.owner != 0;
  const bool inserts = !there && rules.extension_inserts;
  const bool matches = d.owner == m.owner || (there && !rules.extension_checks_owner);
  m.slot = matches || inserts ? kExtended : kNoMatch;
  if (!matches && !inserts) return;
  took(d.until > kDue ? arrow::extension_in_time() : arrow::extension_late());
  if (d.owner != m.owner) violate(w, kOwnership);
  int until = kDue - waited + kLease + margin(rules, true);
  if (rules.never_lowers_expiry && rules.margin != Rules::Margin::not_in_extensions) {
    until = std::max(until, int{d.until});
  }
  using Beat = Rules::Beat;
  const int beat = rules.lock != Lock::leasehold                 ? d.beat
                   : rules.beat == Beat::kept_by_extensions      ? d.beat
                   : rules.beat == Beat::restarted_by_extensions ? 1
                   : rules.beat == Beat::counted_in_document     ? std::min(d.beat + 1, 7)
                                                                 : 7;
  d = {m.owner, byte(beat), byte(std::max(until, 0)), d.counter};
}

void LockSystem::execute_delete(World& w, int i, Message& m, Document& d) const {
  const Rules& rules = rules_for(scope_, i);
  const bool matches = d.owner != 0 && (d.owner == m.owner || !rules.release_checks_owner);
  if (matches) {
    if (d.owner != m.owner) violate(w, kOwnership);
    took(d.until <= kDue            ? arrow::deleted_expired()
         : is_extending(w, d.owner) ? arrow::deleted_while_extending()
                                    : arrow::deleted());
    d = {};
  }
  if (rules.believes_until_release_answered) {
    m.slot = kGone;
  } else {
    m = {};
  }
}

void LockSystem::deliver(World& w, int i, int k) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const Message m = c.message[k];
  c.message[k] = {};
  c.awaited = 0;
  switch (m.slot) {
    case kWon: return won(w, i, m);
    case kRefused:
      took(arrow::refused());
      c.phase = kWaiting;
      if (m.seen_owner != 0 && (c.sight_owner != m.seen_owner || c.sight_beat != m.seen_beat)) {
        c.sight_owner = m.seen_owner;
        c.sight_beat = m.seen_beat;
        c.sight_age = rules.sight_counts_from_sending ? m.age : Byte{0};
      }
      return;
    case kExtended: {
      const int left = kLease - (rules.deadline_from_reply ? 0 : int{m.age});
      if (c.lease > 0 || !rules.has_deadline) {
        took(arrow::extended());
        c.lease = std::max(c.lease, byte(std::max(left, 0)));
      } else if (rules.late_extension_revives && left > 0) {
        c.lease = byte(left);
        violate(w, kRevived);
      } else {
        took(arrow::extension_failed());
      }
      return;
    }
    case kNoMatch:
      took(arrow::extension_failed());
      c.lease = 0;
      if (!rules.has_deadline) {  // told so, and stops
        c.phase = kIdle;
        c.owner = c.token = c.order = 0;
      }
      return;
    default:  // the answer to a release
      c.phase = kIdle;
      c.owner = c.lease = c.token = c.order = c.doubtful = c.attempt_beat = 0;
      return;
  }
}

void LockSystem::won(World& w, int i, const Message& m) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const int left = kLease + (rules.holder_keeps_drift_margin ? 0 : 1) -
                   (rules.deadline_from_reply ? 0 : int{m.age});
  if (left <= 0 && rules.has_deadline) {  // too late: given back, a fresh owner goes on
    took(arrow::won_too_late());
    c.phase = kWaiting;
    if (c.to_delete == 0) c.to_delete = m.owner;
    c.doubtful = c.attempt_beat = 0;
    if (rules.fresh_owner_after_delete && rules.owner != Rules::Owner::per_process) c.owner = 0;
    return;
  }
  took(arrow::won());
  c.phase = kHeld;
  c.lease = byte(std::clamp(left, 0, 3));
  c.token = m.token;
  c.order = m.order;
  c.doubtful = 0;
  if (is_package(scope_, i)) {
    c.token = c.order = 0;  // comparable only among our own clients
    return;
  }
  const Byte token = token_of(c);
  const bool falls = (m.order > w.top_order && token <= w.top_token) ||
                     (m.order < w.top_order && token >= w.top_token);
  const bool counted = rules.token != Rules::Token::none && !tokens_are_orders(scope_);
  if (counted && w.top_order != 0 && falls) violate(w, kToken);
  if (m.order > w.top_order) {
    w.top_order = m.order;
    w.top_token = counted ? token : Byte{0};
  }
}

bool LockSystem::resource_takes(const World& w, int client) const {
  const Client& c = w.client[client];
  return tokens_are_orders(scope_) ? c.order >= w.top_order : c.token >= w.top_token;
}

const char* LockSystem::broken_in(const World& w) const {
  if (w.violation != kNoViolation) return kBroken[w.violation].text;
  int believers = 0;
  const int ours = scope_.clients - (scope_.dotnet ? 1 : 0);
  for (int i = 0; i < ours; ++i) {
    const Client& c = w.client[i];
    const bool believing = believes(w, i);
    believers += believing ? 1 : 0;
    if (c.phase != kHeld || c.order >= w.top_order || !looks_at(3)) continue;
    if (resource_takes(w, i)) return kBroken[kFenceOrder].text;
    if (believing && c.lease > 0 && looks_at(1)) return kBroken[kFenceRefused].text;
  }
  return believers > 1 && looks_at(2) ? "G2: two believed at the same time" : nullptr;
}

const char* LockSystem::broken(const State& state) const {
  return broken_in(unpack(state, scope_));
}

}  // namespace leasehold::model
