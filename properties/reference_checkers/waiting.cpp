#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "properties/reference_checkers/reference_checkers.hpp"
#include "properties/reference_checkers/waiting_questions.hpp"

/// G7: "a waiter gets the lock or returns by its timeout; a dead holder's lock goes to a waiter in
/// bounded time."
namespace leasehold::properties {
namespace {

/// "... or end when they said".
bool ends_late(const Questions& q, const Event& ask) {
  if (!ask.single_attempt && ask.give_up_ns == 0) return false;
  const double said =
      !ask.single_attempt
          ? static_cast<double>(ask.give_up_ns)
          : at(&ask) + q.own_time(ask, static_cast<double>(ask.operation_timeout_ms) * kMs);
  const double latest = said + q.late();
  if (latest >= q.finish()) return false;
  const Event* granted = q.of(ask, Kind::granted);
  const double ended = granted != nullptr ? at(granted) : at(q.of(ask, Kind::ended));
  return q.broken({ask.single_attempt ? at(&ask) : said, latest, ended,
                   q.alive_until(ask.process), q.of_process(ask.process)});
}

const Event* answer_of(const Questions& q, const Event& of_a_lock) {
  return q.first([&](const Event& e) {
    return e.kind == Kind::all_end && e.process == of_a_lock.process && e.call == of_a_lock.call &&
           e.name == of_a_lock.name;
  });
}

bool is_joint(const Questions& q, const std::string& name) {
  return q.first([&](const Event& e) { return e.kind == Kind::all && e.name == name; }) != nullptr;
}

/// As many turns as callers, one for the dead. A holder that wants others too, with names after
/// this one's, may wait for all turns of those. `known`: by lock, each counted once.
double all_turns(const Questions& q, const std::string& name,
                 std::map<std::string, double>& known) {
  if (const auto found = known.find(name); found != known.end()) return found->second;
  double others = 0;
  if (is_joint(q, name)) {
    std::set<std::string, std::greater<>> after;
    for (const Event* e : q.all(Kind::all)) {
      if (e->name > name) after.insert(e->name);
    }
    for (const auto& one : after) others = std::min(others + all_turns(q, one, known), q.finish());
  }
  double turns = 1, longest = 0;
  for (const Event* other : q.all(Kind::ask)) {
    if (other->name != name) continue;
    if (other->healed) ++turns;
    longest = std::max(longest, lease_between_clocks(*other) + two_attempts(q, *other) + others);
  }
  return known[name] = turns * longest;
}

/// Once faults are over each call is served in turn.
/// A call for a permit ends those for its slots as it likes.
/// `turns`: all turns of its lock.
bool unserved_when_healed(const Questions& q, const Event& ask, double turns) {
  const bool of_a_slot = q.first([&](const Event& e) {
    if (e.kind != Kind::permit) return false;
    for (std::int64_t slot = 0; slot < e.count; ++slot) {
      if (ask.name == e.name + '#' + std::to_string(slot)) return true;
    }
    return false;
  }) != nullptr;
  const bool of_a_call_before = q.first([&](const Event& e) {
    return e.kind == Kind::all && !e.healed && e.process == ask.process && e.name == ask.name &&
           at(&e) <= at(&ask) && at(&ask) <= at(answer_of(q, e));
  }) != nullptr;
  if (!ask.healed || of_a_slot || of_a_call_before) return false;
  const Event* ended = q.of(ask, Kind::ended);
  const auto delays = of_all_waiters(q, ask.name);
  if (ended != nullptr && ended->outcome != "timed_out" && ended->outcome != "cancelled") {
    const double over = waits_until(q, ask);
    return !meets(delays, std::max(at(&ask), over - two_attempts(q, ask)), over + 1);
  }
  const double until = std::min(waits_until(q, ask), q.alive_until(ask.process));
  return q.broken({at(&ask), at(&ask) + turns, at(q.of(ask, Kind::granted)),
                   until, together({delays, of_waiter(q, ask)})});
}

/// A call for several locks keeps what it has from its user until it has all.
double user_has_from(const Questions& q, const Event& granted) {
  double from = at(&granted);
  for (const Event* e : q.all(Kind::all)) {
    const bool meant = e->process == granted.process && e->name == granted.name;
    const double ended = at(answer_of(q, *e));
    if (meant && at(e) <= at(&granted) && at(&granted) <= ended) from = std::max(from, ended);
  }
  return from;
}

/// What is granted gets to a user, or back; of a process whose users ask.
bool reaches_no_user(const Questions& q, const Event& ask) {
  const Event* granted = q.of(ask, Kind::granted);
  const bool asks = q.first([&](const Event& e) {
    return e.kind == Kind::held && e.process == ask.process && e.count > 0;
  }) != nullptr;
  if (granted == nullptr || !asks) return false;
  const double from = user_has_from(q, *granted);
  const double latest = from + 2'000 * kMs + q.late();
  if (latest >= q.finish()) return false;
  double reached = std::min(at(q.of(ask, Kind::release)), at(q.of(ask, Kind::lost)));
  for (const Event* e : q.all(Kind::held)) {
    if (!same_session(*e, ask)) continue;
    reached = std::min(reached, static_cast<double>(first_asked_ns(*e)));
  }
  return q.broken(
      {from, latest, reached, q.alive_until(ask.process), q.of_process(ask.process)});
}

/// A longest holding ends with a delete, whatever the user does.
bool keeps_beyond_its_limit(const Questions& q, const Event& ask) {
  const Event *granted = q.of(ask, Kind::granted), *lost = q.of(ask, Kind::lost);
  if (granted == nullptr || lost == nullptr || lost->outcome != "max_holding") return false;
  const auto deletes = q.deletes_of(granted->owner);
  const double sent = deletes.empty() ? kForever : at(deletes.front());
  return q.broken({at(lost), at(lost) + q.late(), sent, q.sends_until(ask, at(lost)),
                   q.of_worker(ask.process)});
}

/// A retry that finds its own owner there has won.
bool overlooks_its_win(const Event& reply) {
  const bool own = model::asks_for_lock(reply) && reply.outcome == "done" && !reply.owner.empty() &&
                   model::owner_of(reply.seen_lock_id) == reply.owner;
  return own && reply.matched != 1;
}

/// A waiting call that nothing disturbs has to see the lock taken within the bound.
bool waits_in_vain(const Questions& q, const Event& ask, double from, double bound,
                   double taken) {
  if (ask.single_attempt) return false;  // it asks once
  from = std::max(from, at(&ask));
  const double until = std::min(waits_until(q, ask), q.alive_until(ask.process));
  if (std::min(taken, until) <= from + bound) return false;  // whatever delayed it
  return q.broken({from, from + bound, taken, until, of_waiter(q, ask)});
}

/// How many of these calls leave a lock that is free.
int leave_it_free(const Questions& q, const Stay& s, const Events& asks) {
  if (s.next == nullptr || s.next->kind != Kind::gone) return 0;
  const Event* next_put = q.change_after(*s.next, true);
  if (next_put == nullptr && !q.oplog_read()) return 0;
  const double taken = next_put == nullptr ? kForever : q.executed_from(*next_put);
  return static_cast<int>(std::ranges::count_if(asks, [&](const Event* ask) {
    return taken > at(s.next) &&
           waits_in_vain(q, *ask, at(s.next), two_attempts(q, *ask), taken);
  }));
}

/// And how many leave a dead holder's.
int leave_it_to_the_dead(const Questions& q, const Stay& s, const Events& asks) {
  if (q.gave_up(s.owner, s.next) || (s.next == nullptr && !q.oplog_read())) return 0;
  const double changed = s.next == nullptr            ? kForever
                         : s.next->kind == Kind::gone ? at(s.next) - q.lag()
                                                      : q.executed_from(*s.next);
  const double from = q.executed_by(*s.put), lease = lease_between_clocks(*s.ask);
  return static_cast<int>(std::ranges::count_if(asks, [&](const Event* ask) {
    return ask != s.ask && waits_in_vain(q, *ask, from, lease + two_attempts(q, *ask), changed);
  }));
}

// Of users' calls: they end when they said, and once faults are over each gets what it asked for.
double commands(const Questions& q, const Event& call, double own_ms) {
  return q.own_time(call, own_ms * kMs) + q.late();
}

double timeouts(const Event& call, int count) {
  return static_cast<double>(count * call.operation_timeout_ms);
}

/// `most`: so many commands one after the other, if it does not wait.
bool call_ends_late(const Questions& q, const Event& call, const Event* end, int most) {
  if (!call.single_attempt && call.give_up_ns == 0) return false;
  const double latest = call.single_attempt ? at(&call) + commands(q, call, timeouts(call, most))
                                            : static_cast<double>(call.give_up_ns) + q.late();
  if (latest >= q.finish()) return false;
  const double due = call.single_attempt ? at(&call) : static_cast<double>(call.give_up_ns);
  return q.broken(
      {due, latest, at(end), q.alive_until(call.process), q.of_process(call.process)});
}

bool ends_in_vain_when_healed(const Questions& q, const Event& call, const Event* end) {
  if (!call.healed || end == nullptr || end->outcome == "granted") return false;
  const double most = at(end) - std::floor((at(end) - at(&call)) / 10);
  return q.broken({at(&call), most, kForever, at(end), q.of_servers(call.process)});
}

// Of calls for permits: no slot stays free while one waits at another.
const Event* end_of(const Questions& q, const Event& call) {
  return q.first([&](const Event& e) {
    return e.kind == Kind::permit_end && e.process == call.process && e.call == call.call;
  });
}

/// Whether the call waited through this time in which a slot was free, and had to notice.
bool leaves_slot_free(const Questions& q, const Event& call, double from, double to) {
  from = std::max(from, at(&call));
  if (call.single_attempt || to <= from) return false;
  // A pause between looks, what it does first, and an attempt in vain before this one.
  const double bound = commands(q, call, 1'500 + timeouts(call, 5));
  auto delays = q.of_servers(call.process);
  for (std::int64_t slot = 0; slot < call.count; ++slot) {
    Event here = call;
    here.name += '#' + std::to_string(slot);
    const bool asked = q.first([&](const Event& e) {
      return e.kind == Kind::ask && e.name == here.name && e.process == here.process;
    }) != nullptr;
    if (asked) delays = together({delays, of_waiter(q, here)});
  }
  const double until =
      std::min({at(end_of(q, call)), q.finish(), q.alive_until(call.process)});
  return until >= from + bound && q.broken({from, from + bound, to, until, delays});
}

int slots_left_free(const Questions& q, const Event& call) {
  if (!q.oplog_read()) return 0;
  int found = 0;
  bool untried = false;
  for (std::int64_t slot = 0; slot < call.count; ++slot) {
    const auto name = call.name + '#' + std::to_string(slot);
    const bool named = q.first([&](const Event& e) { return e.name == name; }) != nullptr;
    untried = untried || !named;
    auto changes = q.all([&](const Event& e) {
      return (e.kind == Kind::put || e.kind == Kind::gone) && e.name == name;
    });
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Event* a, const Event* b) { return a->order < b->order; });
    if (!named) continue;
    const auto taken = [&](const Event* put) {
      return put == nullptr ? kForever : q.executed_from(*put);
    };
    const Event* first = changes.empty() ? nullptr : changes.front();
    found += leaves_slot_free(q, call, 0, taken(first)) ? 1 : 0;
    for (const Event* gone : changes) {
      if (gone->kind != Kind::gone) continue;
      found += leaves_slot_free(q, call, at(gone), taken(q.change_after(*gone, true))) ? 1 : 0;
    }
  }
  return found + (untried && leaves_slot_free(q, call, 0, kForever) ? 1 : 0);
}

int slow_permit_calls(const Questions& q) {
  int found = 0;
  for (const Event* call : q.all(Kind::permit)) {
    const Event* end = end_of(q, *call);
    found += call_ends_late(q, *call, end, 3) ? 1 : 0;  // two attempts, and a look between them
    found += ends_in_vain_when_healed(q, *call, end) ? 1 : 0;
    found += slots_left_free(q, *call);
  }
  return found;
}

// Of calls for several locks: they return nothing that was lost before.
std::vector<const Event*> locks_of(const Questions& q, const Event& call) {
  return q.all([&](const Event& e) {
    return e.kind == Kind::all && e.process == call.process && e.call == call.call;
  });
}

/// A longest holding may end while it waits, and so may a lock of which no extension is confirmed
/// for a lease, because servers are disturbed or stand still.
bool may_be_unavailable(const Questions& q, const Event& call, const Event* end,
                        const std::vector<const Event*>& locks) {
  if (end == nullptr || end->outcome != "unavailable") return false;
  if (call.max_holding_ms > 0) return true;
  return std::any_of(locks.begin(), locks.end(), [&](const Event* lock) {
    return q.first([&](const Event& e) {
      const double lease_ago = at(&e) - lease_between_clocks(call);
      return e.kind == Kind::lost && e.process == call.process && e.name == lock->name &&
             at(&e) >= at(&call) && at(&e) <= at(end) &&
             meets(q.of_servers(call.process), lease_ago, at(&e));
    }) != nullptr;
  });
}

bool returns_a_lost_lock(const Questions& q, const Event& end) {
  if (end.outcome != "granted") return false;
  const Event* granted = q.first([&](const Event& e) {
    return e.kind == Kind::granted && e.process == end.process && e.name == end.name &&
           e.token == end.token;
  });
  if (granted == nullptr) return true;
  const double lost = at(q.of(*granted, Kind::lost));
  return q.broken({lost, lost + q.late(), at(&end), kForever, q.of_process(end.process)});
}

int bad_calls_for_several(const Questions& q) {
  int found = 0;
  for (const Event* call : q.all(Kind::all)) {
    const auto locks = locks_of(q, *call);
    if (call != locks.front()) continue;
    const Event* end = answer_of(q, *call);
    found += call_ends_late(q, *call, end, static_cast<int>(locks.size())) ? 1 : 0;
    if (may_be_unavailable(q, *call, end, locks)) continue;
    found += ends_in_vain_when_healed(q, *call, end) ? 1 : 0;
  }
  for (const Event* end : q.all(Kind::all_end)) found += returns_a_lost_lock(q, *end) ? 1 : 0;
  return found;
}

/// How many holdings its process has had in a row when this command hands the lock on.
std::int64_t holdings_with(const Questions& q, const Event& hand_over) {
  const Event* given = q.first([&](const Event& e) {
    return e.kind == Kind::granted && e.owner == hand_over.giver.str();
  });
  const Event* before = given == nullptr ? nullptr : q.first([&](const Event& e) {
    return e.kind == Kind::send && e.verb == "hand-over" && e.lock_id == given->lock_id;
  });
  if (given == nullptr) return 1;
  return before == nullptr ? 2 : holdings_with(q, *before) + 1;
}

int too_often_in_a_row(const Questions& q) {
  int found = 0;
  for (const Event* e : q.all(Kind::send)) {
    if (e->verb != "hand-over") continue;
    const Event* ask = q.of(*e, Kind::ask);
    if (ask == nullptr || ask->holdings_in_a_row == 0) continue;
    found += holdings_with(q, *e) > ask->holdings_in_a_row ? 1 : 0;
  }
  return found;
}

}  // namespace

int slow_liveness(const Questions& q) {
  int found = 0;
  const auto asks = q.all(Kind::ask);
  std::map<std::string, double> turns;  // by lock
  for (const Event* ask : asks) {
    found += ends_late(q, *ask) ? 1 : 0;
    found += unserved_when_healed(q, *ask, all_turns(q, ask->name, turns)) ? 1 : 0;
    found += keeps_beyond_its_limit(q, *ask) ? 1 : 0;
    found += reaches_no_user(q, *ask) ? 1 : 0;
  }
  for (const Event* reply : q.all(Kind::reply)) found += overlooks_its_win(*reply) ? 1 : 0;
  for (const Stay& s : q.stays()) {
    Events of_it = asks;
    std::erase_if(of_it, [&](const Event* ask) { return ask->name != s.put->name; });
    found += leave_it_free(q, s, of_it) + leave_it_to_the_dead(q, s, of_it);
  }
  return found + slow_queue_turns(q) + slow_permit_calls(q) + bad_calls_for_several(q) +
         too_often_in_a_row(q);
}

}  // namespace leasehold::properties
