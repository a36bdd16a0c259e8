#include "model/lock_system.hpp"

#include <algorithm>
#include <cstring>

namespace leasehold::model {
namespace {

using Byte = LockSystem::Byte;
using World = LockSystem::World;
using Client = LockSystem::Client;
using Message = LockSystem::Message;

enum Violation : Byte {
  kNoViolation,
  kGivenAway,
  kFenceOrder,
  kFenceRefused,
  kToken,
  kOwnership,
  kRevived
};
constexpr const char* kViolations[] = {
    "",
    "G1: a lease was given to another before it ran out",
    "G3: the resource took a write of an earlier holder after one of a later",
    "G3: the resource refused its current holder",
    "G4: a token did not rise",
    "G6: another's lock was touched",
    "G5: a lost handle believed again"};

void violate(World& w, Violation violation) {
  if (w.violation == kNoViolation) w.violation = violation;
}

/// Whether a delete of this owner was sent: its lease is given back.
bool given_back(const World& w, Byte owner) {
  return (w.client[LockSystem::client_of(owner)].deleted >> LockSystem::generation_of(owner) & 1) !=
         0;
}

}  // namespace

LockSystem::State LockSystem::pack(const World& world) {
  State state{};
  std::memcpy(state.data(), &world, sizeof world);
  return state;
}

LockSystem::World LockSystem::unpack(const State& state) {
  World world;
  std::memcpy(static_cast<void*>(&world), state.data(), sizeof world);
  return world;
}

LockSystem::Byte LockSystem::owner_of(int client, const Client& c) const {
  const int generation = is(Variant::owner_per_process) ? 0 : int{c.generation};
  return byte(client * kGenerations + generation + 1);
}

bool LockSystem::believes(const World& w, const Client& c) const {
  if (c.phase == kReleasing)
    return is(Variant::belief_until_the_release_is_answered) && w.now < c.belief_end;
  return c.phase == kHeld && w.now < c.belief_end;
}

int LockSystem::free_slot(const Client& c) const {
  for (int k = 0; k < scope_.messages; ++k) {
    if (c.message[k].slot == kEmpty) return k;
  }
  return -1;
}

void LockSystem::collect(const World& w, Out& out) const {
  const auto go = [&](Act act, auto change) {
    World next = w;
    change(next);
    out.emplace_back(next, Action{act, 0, 0});
  };
  go(Act::tick, [](World& n) { ++n.now; });
  if (w.dirty != 0) {
    go(Act::commit, [](World& n) {
      n.dirty = 0;
      n.committed = n.document;
      n.committed_lease_owner = n.lease_owner;
      n.committed_lease_end = n.lease_end;
      for (Client& c : n.client) {
        for (Message& m : c.message) m.committed = m.slot >= kWon ? 1 : m.committed;
      }
    });
  }
  if (w.failed_over < scope_.failovers) {
    go(Act::failover, [this](World& n) {
      ++n.failed_over;
      if (n.dirty != 0) {  // what no majority had is rolled back, and was never given
        n.document = n.committed;
        n.lease_owner = n.committed_lease_owner;
        n.lease_end = n.committed_lease_end;
      }
      n.dirty = 0;
      for (Client& c : n.client) {
        for (Message& m : c.message) {
          const bool unanswered = m.slot >= kWon && m.committed == 0;
          if (unanswered && !is(Variant::majority_not_awaited)) m = {};
          m.started = 0;  // commands inside the old primary end with it, and arrive anew
        }
      }
    });
  }
  if (w.ttl_passes < scope_.ttl_passes && w.document.owner != 0 &&
      w.document.expires <= server_now(w)) {
    go(Act::ttl_pass, [this](World& n) {
      ++n.ttl_passes;
      n.document = {};
      wrote(n);
    });
  }
  for (int i = 0; i < scope_.clients; ++i) {
    client_steps(w, i, out);
    for (int k = 0; k < scope_.messages; ++k) message_steps(w, i, k, out);
  }
}

void LockSystem::client_steps(const World& w, int i, Out& out) const {
  const Client& c = w.client[i];
  const auto go = [&](Act act, auto change) {
    World next = w;
    change(next, next.client[i]);
    out.emplace_back(next, Action{act, byte(i), 0});
  };
  if (c.phase == kCrashed) return;
  if (c.paused != 0) {
    go(Act::resume, [](World&, Client& n) { n.paused = 0; });
    return;
  }
  const bool active = c.phase == kHeld || c.phase == kAttempting;
  if (w.crashes < scope_.crashes && active) {
    go(Act::crash, [](World& n, Client& nc) {
      ++n.crashes;
      Client gone;
      gone.phase = kCrashed;
      gone.deleted = nc.deleted;
      std::copy(std::begin(nc.message), std::end(nc.message), gone.message);
      nc = gone;
    });
  }
  if (w.pauses < scope_.pauses && active) {
    go(Act::pause, [](World& n, Client& nc) {
      ++n.pauses;
      nc.paused = 1;
    });
  }
  const int k = free_slot(c);
  const bool may_send = k >= 0;
  if (c.to_delete != 0 && may_send) {
    go(Act::clean_up, [&](World& n, Client& nc) {
      Message m;
      m.slot = kDelete;
      m.owner = nc.to_delete;
      nc.to_delete = 0;
      send(n, i, k, m);
    });
  }
  if (c.phase == kIdle && c.acquired < scope_.acquisitions && c.newest < kGenerations - 1) {
    go(Act::ask, [](World&, Client& n) {
      ++n.acquired;
      n.generation = n.newest++;
      n.phase = kWaiting;
      n.attempt_beat = 0;
      n.doubtful = 0;
    });
  }
  if (c.phase == kWaiting && may_send) {
    go(Act::attempt, [&](World& n, Client&) { attempt(n, i, k); });
  }
  if (c.phase == kAttempting || (c.phase == kHeld && c.awaited != 0)) {
    go(Act::time_out, [this](World& n, Client& nc) {
      if (nc.phase == kAttempting) {
        nc.phase = kWaiting;
        nc.doubtful = 1;
      } else if (is(Variant::deadline_moved_by_an_unknown_extension)) {
        nc.belief_end = byte(n.now + kLease);
      }
      nc.awaited = 0;
    });
  }
  if ((c.phase == kWaiting && c.doubtful != 0) || c.phase == kAttempting) {
    go(Act::give_up, [&](World&, Client& n) {
      n.phase = kIdle;
      n.awaited = 0;
      n.to_delete = owner_of(i, n);
    });
  }
  if (c.phase != kHeld) return;
  if (c.awaited == 0 && may_send && w.now < c.belief_end) {
    go(Act::extend, [&](World& n, Client& nc) {
      Message m;
      m.slot = kExtend;
      m.owner = owner_of(i, nc);
      m.token = nc.token;
      nc.awaited = byte(k + 1);
      send(n, i, k, m);
    });
  }
  if (may_send) {
    go(Act::release, [&](World& n, Client& nc) {
      Message m;
      m.slot = kDelete;
      m.owner = owner_of(i, nc);
      nc.phase = is(Variant::belief_until_the_release_is_answered) ? kReleasing : kIdle;
      nc.awaited = 0;
      nc.token = nc.order = 0;
      if (nc.phase == kIdle) nc.belief_end = 0;
      send(n, i, k, m);
    });
  }
  go(Act::write, [&](World& n, Client& nc) {
    if (nc.token >= n.fence) {
      n.fence = nc.token;
      if (nc.order < n.fence_order) violate(n, kFenceOrder);
      n.fence_order = std::max(n.fence_order, nc.order);
    } else if (believes(n, nc)) {
      violate(n, kFenceRefused);
    }
  });
}

void LockSystem::send(World& w, int i, int k, Message m) const {
  Client& c = w.client[i];
  if (m.slot != kAcquire || !is(Variant::beat_not_raised_by_a_retry) || c.attempt_beat == 0) {
    ++c.beat;
    if (is(Variant::beat_not_raised_by_a_retry) && m.slot == kAcquire) c.attempt_beat = c.beat;
  }
  m.beat = m.slot == kAcquire && c.attempt_beat != 0 ? c.attempt_beat : c.beat;
  if (m.slot == kDelete) m.beat = 0;
  m.sent = w.now;
  if (m.slot == kDelete) c.deleted |= byte(1 << generation_of(m.owner));
  c.message[k] = m;
}

void LockSystem::attempt(World& w, int i, int k) const {
  Client& c = w.client[i];
  Message m;
  m.slot = kAcquire;
  m.owner = owner_of(i, c);
  // A lease and the margin against drift have passed on a clock that runs one tick ahead.
  const int patience = kLease + (is(Variant::no_drift_margin_of_the_observer) ? 0 : 1) - 1;
  if (c.sight_owner != 0 && w.now >= c.sight_at + patience) {
    m.seen_owner = c.sight_owner;
    m.seen_beat = c.sight_beat;
  }
  c.phase = kAttempting;
  c.awaited = byte(k + 1);
  send(w, i, k, m);
}

void LockSystem::message_steps(const World& w, int i, int k, Out& out) const {
  const Message& m = w.client[i].message[k];
  const auto go = [&](Act act, auto change) {
    World next = w;
    change(next, next.client[i].message[k]);
    out.emplace_back(next, Action{act, byte(i), byte(k)});
  };
  if (m.slot == kEmpty) return;
  if (m.slot < kWon) {
    if (scope_.late_starts && m.started == 0 && m.slot != kDelete) {
      go(Act::start, [this](World& n, Message& nm) {
        nm.started = byte(server_now(n) + 1);
        nm.clock = n.order;
      });
    }
    go(Act::execute, [&](World& n, Message&) { execute(n, i, k); });
  }
  // A loss counts only while somebody waits for the answer; the rest just lies there.
  if (w.losses < scope_.losses) {
    go(Act::lose, [](World& n, Message& nm) {
      ++n.losses;
      nm = {};
    });
  }
  const bool answered = m.slot >= kWon && (m.committed != 0 || is(Variant::majority_not_awaited));
  const Client& c = w.client[i];
  if (answered && (c.paused == 0 || c.phase == kCrashed)) {
    go(Act::deliver, [&](World& n, Message&) { deliver(n, i, k); });
  }
}

void LockSystem::execute(World& w, int i, int k) const {
  Message& m = w.client[i].message[k];
  const int server_time = m.started != 0 ? m.started - 1 : server_now(w);
  if (m.started == 0) m.clock = w.order;
  switch (m.slot) {
    case kAcquire: execute_acquire(w, m, server_time); break;
    case kExtend: execute_extend(w, m, server_time); break;
    default: execute_delete(w, m); break;
  }
  if (m.slot != kEmpty) {
    // A reply, of a refusal too, waits until a majority has the newest write.
    m.committed = w.dirty == 0 ? 1 : 0;
    m.started = 0;
    m.clock = 0;
    m.beat = 0;
  }
}

void LockSystem::wrote(World& w) const {
  ++w.order;
  if (w.failed_over < scope_.failovers) {
    w.dirty = 1;
  } else {
    w.committed = w.document;  // nothing can be rolled back any more
  }
}

/// The truth about leases: one is over when its holder has to stop believing, or gave it back.
void LockSystem::give_lease(World& w, Byte owner, int end) const {
  const bool another = w.lease_owner != 0 && w.lease_owner != owner;
  if (another && w.now < w.lease_end && !given_back(w, w.lease_owner)) violate(w, kGivenAway);
  if (w.lease_owner == owner) end = std::max(end, int{w.lease_end});
  w.lease_owner = owner;
  w.lease_end = byte(end);
}

void LockSystem::execute_acquire(World& w, Message& m, int server_time) const {
  Document& d = w.document;
  const bool ours = d.owner == m.owner;
  const bool beat_matches = d.beat == m.seen_beat || is(Variant::observed_beat_not_compared);
  const bool dead = m.seen_owner != 0 && ((d.owner == m.seen_owner && beat_matches) ||
                                          is(Variant::observed_string_not_compared));
  const int waiter_margin = is(Variant::margin_kept_by_the_waiter) ? scope_.clock_margin : 0;
  const bool expired = d.expires + waiter_margin <= server_time || is(Variant::expiry_ignored);
  if (d.owner != 0 && !ours && !dead && !expired) {
    m.seen_owner = d.owner;
    m.seen_beat = d.beat;
    m.slot = is(Variant::no_check_of_the_winner) ? kWon : kRefused;
    if (m.slot == kWon) m.token = m.order = w.order;
    return;
  }
  const int margin = is(Variant::margin_kept_by_the_waiter) ? 0 : scope_.clock_margin;
  int expires = server_time + kLease + margin;
  if (ours && !is(Variant::older_own_write_lowers_expires_at)) {
    expires = std::max(expires, int{d.expires});
  }
  const int counter = d.owner == 0 ? 1 : d.counter + (ours ? 0 : 1);
  d = {m.owner, m.beat, byte(expires), byte(counter)};
  wrote(w);
  give_lease(w, m.owner, m.sent + kLease);
  m.slot = kWon;
  m.order = w.order;
  m.token = is(Variant::token_from_cluster_time)         ? m.clock
            : is(Variant::token_counter_in_the_document) ? d.counter
                                                         : w.order;
  m.seen_owner = m.seen_beat = 0;
}

void LockSystem::execute_extend(World& w, Message& m, int server_time) const {
  Document& d = w.document;
  const bool inserts = d.owner == 0 && is(Variant::extension_inserts_when_missing);
  const bool matches =
      d.owner == m.owner || (d.owner != 0 && is(Variant::no_owner_check_on_extension));
  m.slot = matches || inserts ? kExtended : kNoMatch;
  m.token = m.order = 0;
  if (!matches && !inserts) return;
  if (d.owner != m.owner) violate(w, kOwnership);
  const int margin =
      is(Variant::margin_kept_by_the_waiter) || is(Variant::margin_forgotten_by_an_extension)
          ? 0
          : scope_.clock_margin;
  int expires = server_time + kLease + margin;
  const bool may_lower = is(Variant::older_own_write_lowers_expires_at) ||
                         is(Variant::margin_forgotten_by_an_extension);
  if (!may_lower) expires = std::max(expires, int{d.expires});
  const Byte beat = is(Variant::beat_kept_by_an_extension)        ? d.beat
                    : is(Variant::beat_restarted_by_an_extension) ? byte(1)
                                                                  : m.beat;
  d = {m.owner, beat, byte(expires), d.counter};
  wrote(w);
  give_lease(w, m.owner, m.sent + kLease);
}

void LockSystem::execute_delete(World& w, Message& m) const {
  Document& d = w.document;
  const Byte owner = m.owner;
  const bool by_name = is(Variant::no_owner_check_on_release);
  m = {};
  if (d.owner == 0 || (d.owner != owner && !by_name)) return;
  if (d.owner != owner) violate(w, kOwnership);
  d = {};
  wrote(w);
}

void LockSystem::deliver(World& w, int i, int k) const {
  Client& c = w.client[i];
  const Message m = c.message[k];
  c.message[k] = {};
  if (c.awaited != k + 1) return;  // nobody waits for it any more
  c.awaited = 0;
  switch (m.slot) {
    case kWon: return won(w, i, m);
    case kRefused:
      c.phase = kWaiting;
      if (c.sight_owner != m.seen_owner || c.sight_beat != m.seen_beat) {
        c.sight_owner = m.seen_owner;
        c.sight_beat = m.seen_beat;
        c.sight_at = is(Variant::observation_from_the_sending) ? m.sent : w.now;
      }
      return;
    case kExtended:
      if (w.now < c.belief_end) {
        const int from = is(Variant::deadline_from_the_reply) ? w.now : m.sent;
        c.belief_end = std::max(c.belief_end, byte(from + kLease));
      } else if (is(Variant::late_extension_revives_a_lost_handle)) {
        c.belief_end = byte(m.sent + kLease);
        if (w.now < c.belief_end) violate(w, kRevived);
      }
      return;
    case kNoMatch: c.belief_end = 0; return;
    default: return;
  }
}

void LockSystem::won(World& w, int i, const Message& m) const {
  Client& c = w.client[i];
  const int from = is(Variant::deadline_from_the_reply) ? w.now : m.sent;
  const int end = from + kLease + (is(Variant::no_drift_margin_of_the_holder) ? 1 : 0);
  if (w.now >= end) {  // too late: given back, a fresh owner goes on
    c.phase = kWaiting;
    c.to_delete = m.owner;
    c.attempt_beat = 0;
    c.doubtful = 0;
    if (is(Variant::owner_used_on_after_its_delete)) return;
    if (c.newest >= kGenerations - 1) {
      c.phase = kIdle;
    } else {
      c.generation = c.newest++;
    }
    return;
  }
  c.phase = kHeld;
  c.belief_end = byte(end);
  c.token = m.token;
  c.order = m.order;
  const bool falls = (m.order > w.top_order && m.token <= w.top_token) ||
                     (m.order < w.top_order && m.token >= w.top_token);
  if (w.top_order != 0 && falls) violate(w, kToken);
  if (m.order > w.top_order) {
    w.top_order = m.order;
    w.top_token = m.token;
  }
}

const char* LockSystem::broken(const State& state) const {
  const World w = unpack(state);
  if (w.violation != kNoViolation) return kViolations[w.violation];
  int believers = 0;
  for (int i = 0; i < scope_.clients; ++i) believers += believes(w, w.client[i]) ? 1 : 0;
  return believers > 1 ? "G2: two believed at the same time" : nullptr;
}

}  // namespace leasehold::model
