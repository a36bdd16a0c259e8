#include "properties/slow_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace leasehold::properties {
namespace {

using model::Event;
using model::History;
using model::Kind;

constexpr double kMs = 1e6;  ///< in ns
constexpr double kForever = std::numeric_limits<double>::infinity();

/// When something happened that had to happen by `latest`; somebody cared until `until`.
struct Bound {
  double from, latest, happened, until;
};

class Slow {
 public:
  explicit Slow(const History& h) : h_(h), finish_(last(Kind::finish)) {
    const Event& run = h.front();
    if (run.expiry_ms == 0) return;
    late_ = static_cast<double>(run.sent_ns);
    ttl_ = static_cast<double>(run.expiry_ms) * kMs;
    lag_ = static_cast<double>(run.until_ns);
    echo_ = static_cast<double>(run.timeout_ms) * kMs;
  }

  [[nodiscard]] int waiters() const;
  [[nodiscard]] int documents() const;
  [[nodiscard]] int costs() const;

 private:
  using Events = std::vector<const Event*>;

  template <typename Wanted>
  [[nodiscard]] Events all(const Wanted& wanted) const {
    Events found;
    for (const Event& e : h_) {
      if (wanted(e)) found.push_back(&e);
    }
    return found;
  }
  template <typename Wanted>
  [[nodiscard]] const Event* first(const Wanted& wanted) const {
    const auto found = all(wanted);
    return found.empty() ? nullptr : found.front();
  }
  [[nodiscard]] double last(Kind kind) const {
    double at = kForever;
    for (const Event& e : h_) {
      if (e.kind == kind) at = static_cast<double>(e.at_ns);
    }
    return at;
  }
  static double at(const Event* e) {
    return e == nullptr ? kForever : static_cast<double>(e->at_ns);
  }
  /// Of the session that this event belongs to.
  [[nodiscard]] const Event* of(const Event& session, Kind kind) const {
    return first([&](const Event& e) {
      return e.kind == kind && e.process == session.process && e.session == session.session;
    });
  }

  // The world.
  [[nodiscard]] bool disturbed(double from, double to) const;
  [[nodiscard]] double stalled(double from, double to) const;
  [[nodiscard]] bool ran(const std::string& process, double from, double to) const;
  [[nodiscard]] double last_sign(const std::string& process) const;
  [[nodiscard]] bool broken(const Bound& b) const;

  // Commands and documents.
  [[nodiscard]] const Event* reply_to(const Event& send) const {
    return first([&](const Event& e) {
      return e.kind == Kind::reply && e.process == send.process && e.command == send.command;
    });
  }
  [[nodiscard]] const Event* sender(const Event& put) const {
    return first([&](const Event& e) { return e.kind == Kind::send && e.lock_id == put.lock_id; });
  }
  [[nodiscard]] static bool is_change(const Event& e) {
    return e.kind == Kind::put || e.kind == Kind::gone;
  }
  [[nodiscard]] const Event* change_after(const Event& change, bool only_puts = false) const;
  [[nodiscard]] const Event* change_before(const Event& change) const;
  [[nodiscard]] Events deletes_of(const std::string& owner) const;
  [[nodiscard]] bool gives_away(const std::string& owner) const;
  [[nodiscard]] bool gave_up(const std::string& owner, const Event* next) const;
  [[nodiscard]] double executed_by(const Event& put) const;
  [[nodiscard]] double executed_from(const Event& put) const;

  /// The last write of an owner before another's, or before the document went; with who asked.
  struct Stay {
    const Event *put, *send, *ask, *next;
    std::string owner;
  };
  [[nodiscard]] std::vector<Stay> stays() const;

  // Who waits.
  [[nodiscard]] double waits_until(const Event& ask) const {
    return std::min({at(of(ask, Kind::granted)), at(of(ask, Kind::ended)), finish_});
  }
  [[nodiscard]] double own_time(const Event& ask, double ns) const;
  [[nodiscard]] double two_attempts(const Event& ask) const {
    const auto own = static_cast<double>(ask.poll_ms + 2 * ask.timeout_ms) * kMs;
    return own_time(ask, own) + late_;
  }
  [[nodiscard]] static double lease_between_clocks(const Event& ask);
  [[nodiscard]] double end_of(const Event& fault) const;
  [[nodiscard]] bool ends_late(const Event& ask) const;
  [[nodiscard]] bool unserved_when_healed(const Event& ask) const;
  [[nodiscard]] double while_answered(const Event& ask, bool by_anybody, double from,
                                      double bound) const;
  [[nodiscard]] bool waits_in_vain(const Event& ask, double from, double needed_quiet_from,
                                   double bound, double taken) const;

  // What it costs.
  [[nodiscard]] bool release_costs_more(const Event& granted) const;
  [[nodiscard]] bool acquire_costs_more(const Event& granted) const;
  [[nodiscard]] int needless_deletes() const;
  [[nodiscard]] int unasked_for() const;

  const History& h_;
  double finish_;
  double late_ = 400 * kMs, ttl_ = 1'000 * kMs, lag_ = 1'000 * kMs, echo_ = 3'000 * kMs;
};

/// Of those of one kind on one victim, the first to begin is the first to end.
double Slow::end_of(const Event& fault) const {
  Events open;
  for (const Event& e : h_) {
    if (e.kind != Kind::fault || e.detail != fault.detail || e.name != fault.name) continue;
    if (e.outcome == "begins") open.push_back(&e);
    if (e.outcome != "ends" || open.empty()) continue;
    if (open.front() == &fault) return at(&e);
    open.erase(open.begin());
  }
  return at(&fault);
}

bool Slow::disturbed(double from, double to) const {
  return first([&](const Event& fault) {
           return fault.kind == Kind::fault && at(&fault) < to && from < end_of(fault) + echo_;
         }) != nullptr;
}

double Slow::stalled(double from, double to) const {
  double sum = 0;
  for (const Event& e : h_) {
    if (e.kind != Kind::stall || !e.process.empty()) continue;
    const auto began = static_cast<double>(e.sent_ns);
    if (began < to && from < at(&e)) sum += at(&e) - began;
  }
  return sum;
}

double Slow::last_sign(const std::string& process) const {
  double sign = 0;
  for (const Event& e : h_) {
    const bool own = e.process == process && e.kind != Kind::stored && e.kind != Kind::crash;
    if (own) sign = std::max(sign, at(&e));
  }
  return sign;
}

/// Whether the process lived and ran all that time, for all that it could tell.
bool Slow::ran(const std::string& process, double from, double to) const {
  for (const Event& e : h_) {
    if (e.process != process) continue;
    if (e.kind == Kind::crash && last_sign(process) < to) return false;
    if (e.kind == Kind::stall && static_cast<double>(e.sent_ns) < to && from < at(&e)) return false;
    if (e.kind != Kind::pause) continue;
    const Event* resumed = first([&](const Event& r) {
      return r.kind == Kind::resume && r.process == process && r.at_ns >= e.at_ns;
    });
    if (at(&e) < to && from < at(resumed)) return false;
  }
  return true;
}

/// Later than it had to be, and by more than the machine stood still while somebody cared.
bool Slow::broken(const Bound& b) const {
  const double seen = std::min({b.happened, b.until, finish_});
  return b.happened > b.latest && seen - b.latest > stalled(b.from, seen);
}

const Event* Slow::change_after(const Event& change, bool only_puts) const {
  const Event* next = nullptr;
  for (const Event& e : h_) {
    if (!is_change(e) || e.name != change.name || e.order <= change.order) continue;
    if (only_puts && e.kind != Kind::put) continue;
    if (next == nullptr || e.order < next->order) next = &e;
  }
  return next;
}

const Event* Slow::change_before(const Event& change) const {
  const Event* before = nullptr;
  for (const Event& e : h_) {
    if (!is_change(e) || e.name != change.name || e.order >= change.order) continue;
    if (before == nullptr || e.order > before->order) before = &e;
  }
  return before;
}

Slow::Events Slow::deletes_of(const std::string& owner) const {
  return all([&](const Event& e) {
    return e.kind == Kind::send && e.detail == "delete" &&
           (e.owner == owner || e.other_owner == owner);
  });
}

bool Slow::gives_away(const std::string& owner) const {
  return first([&](const Event& e) {
           return e.kind == Kind::send && e.detail == "hand-over" && e.other_owner == owner;
         }) != nullptr;
}

/// Whether this change can have been the owner's own delete or hand-over.
bool Slow::gave_up(const std::string& owner, const Event* next) const {
  if (next == nullptr) return false;
  if (next->kind == Kind::put) {
    const Event* send = sender(*next);
    return send != nullptr && send->detail == "hand-over" && send->other_owner == owner;
  }
  for (const Event* one : deletes_of(owner)) {
    const Event* reply = reply_to(*one);
    const bool told = reply != nullptr && reply->outcome != "unknown";
    const bool did = !told || (reply->matched > 0 && reply->order == next->order);
    if (one->at_ns <= next->at_ns && did) return true;
  }
  return false;
}

double Slow::executed_by(const Event& put) const {
  const Event* send = sender(put);
  const Event* reply = send == nullptr ? nullptr : reply_to(*send);
  const bool told = reply != nullptr && reply->outcome == "done";
  return told ? std::min(at(&put), at(reply)) : at(&put);
}

double Slow::executed_from(const Event& put) const {
  const Event* send = sender(put);
  return send == nullptr ? at(&put) : at(send);
}

std::vector<Slow::Stay> Slow::stays() const {
  std::vector<Stay> found;
  for (const Event& put : h_) {
    if (put.kind != Kind::put) continue;
    Stay s{&put, sender(put), nullptr, change_after(put), model::owner_of(put.lock_id)};
    if (s.send != nullptr) s.ask = of(*s.send, Kind::ask);
    const bool stays_on = s.next != nullptr && s.next->kind == Kind::put &&
                          model::owner_of(s.next->lock_id) == s.owner;
    if (s.ask != nullptr && !stays_on) found.push_back(s);
  }
  return found;
}

/// A span of this caller's clock by the harness's. One whose rate nobody knows may be as slow as
/// the lock allows for.
double Slow::own_time(const Event& ask, double ns) const {
  const Event* start =
      first([&](const Event& e) { return e.kind == Kind::start && e.process == ask.process; });
  const auto rate = start->drift_ppm != 0 ? start->drift_ppm : -ask.drift_ppm;
  return ns * 1e6 / (1e6 + static_cast<double>(rate)) + 500;
}

/// A lease that one clock counts and another outwaits: (1 + d) / (1 - d), to the next thousandth.
double Slow::lease_between_clocks(const Event& ask) {
  const auto lease = static_cast<double>(ask.expiry_ms) * kMs;
  return lease * (1.001 + 2 * static_cast<double>(ask.drift_ppm) / 1e6);
}

/// "... or end when they said".
bool Slow::ends_late(const Event& ask) const {
  if (ask.until_ns < 0) return false;
  const double said = ask.until_ns > 0
                          ? static_cast<double>(ask.until_ns)
                          : at(&ask) + own_time(ask, static_cast<double>(ask.timeout_ms) * kMs);
  const double latest = said + late_;
  if (latest >= finish_ || !ran(ask.process, at(&ask), latest)) return false;
  const Event* granted = of(ask, Kind::granted);
  const double ended = granted != nullptr ? at(granted) : at(of(ask, Kind::ended));
  return broken({at(&ask), latest, ended, kForever});
}

/// Once faults are over everybody is served in turn: as many turns as callers, one for the dead.
bool Slow::unserved_when_healed(const Event& ask) const {
  if (ask.detail != "healed") return false;
  const Event* ended = of(ask, Kind::ended);
  if (ended != nullptr && ended->outcome != "timed_out") return true;
  double turns = 1, longest = 0;
  for (const Event& other : h_) {
    if (other.kind != Kind::ask || other.name != ask.name) continue;
    if (other.detail == "healed") ++turns;
    longest = std::max(longest, lease_between_clocks(other) + two_attempts(other));
  }
  const double latest = while_answered(ask, true, at(&ask), turns * longest);
  if (!ran(ask.process, at(&ask), latest)) return false;
  const double served = at(of(ask, Kind::granted));
  if (served == kForever && waits_until(ask) <= latest) return false;
  return broken({at(&ask), latest, served, waits_until(ask)});
}

/// When a bound ends that begins again after an attempt without an answer, of the asking process or
/// of anybody for this name.
double Slow::while_answered(const Event& ask, bool by_anybody, double from, double bound) const {
  double latest = from + bound;
  for (bool later = true; later;) {
    later = false;
    for (const Event& e : h_) {
      const bool attempt =
          e.kind == Kind::send && (e.detail == "acquire" || e.detail == "hand-over");
      if (!attempt || e.name != ask.name || !(by_anybody || e.process == ask.process)) continue;
      const Event* reply = reply_to(e);
      if (at(&e) >= latest || (reply != nullptr && reply->outcome != "unknown")) continue;
      const double end = reply == nullptr ? finish_ : at(reply);
      if (end <= from || end + bound <= latest) continue;
      latest = end + bound;
      later = true;
    }
  }
  return latest;
}

/// Somebody who waits and whom nothing disturbs has to see the lock taken within the bound.
bool Slow::waits_in_vain(const Event& ask, double from, double needed_quiet_from, double bound,
                         double taken) const {
  if (ask.until_ns == 0) return false;  // it asks once
  from = std::max(from, at(&ask));
  const double latest = while_answered(ask, false, from, bound);
  if (waits_until(ask) < latest || !ran(ask.process, from, latest)) return false;
  if (disturbed(std::min(from, needed_quiet_from), latest)) return false;
  return broken({from, latest, taken, waits_until(ask)});
}

int Slow::waiters() const {
  int found = 0;
  const auto asks = all([](const Event& e) { return e.kind == Kind::ask; });
  for (const Event* ask : asks) {
    found += ends_late(*ask) ? 1 : 0;
    found += unserved_when_healed(*ask) ? 1 : 0;
  }
  for (const Event& e : h_) {
    const bool asked = e.kind == Kind::reply && (e.detail == "acquire" || e.detail == "hand-over");
    const bool own =
        asked && e.outcome == "done" && !e.owner.empty() && model::owner_of(e.lock_id) == e.owner;
    found += own && e.matched != 1 ? 1 : 0;
  }
  for (const Stay& s : stays()) {
    const bool is_free = s.next != nullptr && s.next->kind == Kind::gone;
    const double changed = s.next == nullptr ? kForever
                           : is_free         ? at(s.next) - lag_
                                             : executed_from(*s.next);
    const Event* next_put = is_free ? change_after(*s.next, true) : nullptr;
    const double taken = next_put == nullptr ? kForever : executed_from(*next_put);
    for (const Event* ask : asks) {
      if (ask->name != s.put->name) continue;
      if (is_free && taken > at(s.next) &&
          waits_in_vain(*ask, at(s.next), kForever, two_attempts(*ask), taken)) {
        ++found;
      }
      if (gave_up(s.owner, s.next) || ask == s.ask) continue;
      const double bound = lease_between_clocks(*s.ask) + two_attempts(*ask);
      found += waits_in_vain(*ask, executed_by(*s.put), at(s.send), bound, changed) ? 1 : 0;
    }
  }
  return found;
}

int Slow::documents() const {
  int found = 0;
  for (const Stay& s : stays()) {
    if (gave_up(s.owner, s.next)) continue;
    const Event* ended = of(*s.ask, Kind::ended);
    if (ended != nullptr && deletes_of(s.owner).empty() && !gives_away(s.owner)) {
      const double until = at(ended) + static_cast<double>(s.ask->timeout_ms) * kMs + lag_;
      const bool could = last_sign(s.ask->process) > until &&
                         ran(s.ask->process, at(ended), until) && stalled(at(ended), until) == 0;
      found += could ? 1 : 0;
    }
    const double pass = ttl_ + 2 * lag_;  // the monitor works as long as the truth is late; we read
    const double from = executed_by(*s.put);
    double latest =
        from + static_cast<double>(s.ask->expiry_ms + 2 * s.ask->margin_ms) * kMs + pass;
    // A disturbance puts the next pass off, which may reach into another disturbance.
    for (bool put_off = true; put_off;) {
      put_off = false;
      for (const Event& e : h_) {
        if (e.kind != Kind::fault || at(&e) >= latest) continue;
        const double end = end_of(e) + echo_;
        put_off = put_off || end + pass > latest;
        latest = std::max(latest, end + pass);
      }
    }
    if (s.next == nullptr && finish_ <= latest) continue;
    const double went = s.next == nullptr            ? kForever
                        : s.next->kind == Kind::gone ? at(s.next)
                                                     : executed_from(*s.next);
    found += broken({from, latest, went, kForever}) ? 1 : 0;
  }
  return found;
}

/// "a release one": of a handle that was got with one attempt, so that nothing may be left behind.
bool Slow::release_costs_more(const Event& granted) const {
  const Event* released = of(granted, Kind::released);
  if (released == nullptr || released->outcome == "unknown" || gives_away(granted.owner)) {
    return false;
  }
  const Event* lost = of(granted, Kind::lost);
  if (lost != nullptr && lost->outcome == "max_holding") return false;
  const auto deletes = deletes_of(granted.owner);
  if (deletes.empty()) return true;
  const auto attempts = all([&](const Event& e) {
    return e.kind == Kind::send && model::asks_for_lock(e) && e.process == granted.process &&
           e.session == granted.session;
  });
  const Event* answer = reply_to(*deletes.front());
  const bool answered = answer != nullptr && answer->outcome == "done";
  return attempts.size() == 1 && deletes.size() > 1 && answered;
}

/// "an acquire without contention is one round trip".
bool Slow::acquire_costs_more(const Event& granted) const {
  const Event* ask = of(granted, Kind::ask);
  const Event* put =
      first([&](const Event& e) { return e.kind == Kind::put && e.lock_id == granted.lock_id; });
  if (ask == nullptr || put == nullptr) return false;
  const Event* before = change_before(*put);
  const bool was_free =
      before == nullptr || (before->kind == Kind::gone && before->at_ns < ask->at_ns);
  const double from = at(ask), to = at(&granted);
  if (!was_free || disturbed(from, to) || !ran(granted.process, from, to)) return false;
  const auto attempts = all([&](const Event& e) {
    return e.kind == Kind::send && model::asks_for_lock(e) && e.process == granted.process &&
           e.session == granted.session;
  });
  for (const Event* one : attempts) {
    const Event* reply = reply_to(*one);
    if (reply == nullptr || reply->outcome != "done") return false;
  }
  const bool looked = first([&](const Event& e) {
                        return e.kind == Kind::send && e.detail == "look" &&
                               e.process == granted.process && at(&e) >= from && at(&e) < to;
                      }) != nullptr;
  const Event* other = first([&](const Event& e) {  // for whom it may have looked
    if (e.kind != Kind::ask || e.process != granted.process || e.session == granted.session) {
      return false;
    }
    const double over = std::min(at(of(e, Kind::ended)), at(of(e, Kind::released))) + late_;
    return at(&e) < to && from < over;
  });
  return attempts.size() != 1 || (looked && other == nullptr);
}

/// Who was only ever refused has nothing to delete.
int Slow::needless_deletes() const {
  std::set<std::string> owners, spared;
  for (const Event& e : h_) {
    if (e.kind != Kind::send) continue;
    if (e.detail == "hand-over") spared.insert(e.owner);
    if (e.detail != "acquire") continue;
    owners.insert(e.owner);
    const Event* reply = reply_to(e);
    const bool refused = reply != nullptr && reply->outcome == "done" && !reply->lock_id.empty() &&
                         model::owner_of(reply->lock_id) != e.owner;
    if (!refused) spared.insert(e.owner);
  }
  int found = 0;
  for (const auto& owner : owners) {
    found += !spared.contains(owner) && !deletes_of(owner).empty() ? 1 : 0;
  }
  return found;
}

/// "none that the core did not ask for".
int Slow::unasked_for() const {
  const std::map<std::string, std::set<std::string>> asked_by{
      {"findAndModify", {"acquire", "hand-over"}},
      {"update", {"extend"}},
      {"delete", {"delete"}},
      {"find", {"look"}}};
  int found = 0;
  for (const Event* start : all([](const Event& e) { return e.kind == Kind::start; })) {
    for (const auto& [name, kinds] : asked_by) {
      std::int64_t went = 0;
      std::set<std::int64_t> asked;
      for (const Event& e : h_) {
        if (e.process != start->process) continue;
        if (e.kind == Kind::wire && e.detail == name) went += e.matched;
        if (e.kind == Kind::send && kinds.contains(e.detail)) asked.insert(e.command);
      }
      found += went > static_cast<std::int64_t>(asked.size()) ? 1 : 0;
    }
  }
  return found;
}

int Slow::costs() const {
  int found = needless_deletes() + unasked_for();
  for (const Event* granted : all([](const Event& e) { return e.kind == Kind::granted; })) {
    found += release_costs_more(*granted) ? 1 : 0;
    found += acquire_costs_more(*granted) ? 1 : 0;
  }
  return found;
}

}  // namespace

std::map<std::string, int> slow_bounds(const History& history) {
  const Slow slow(history);
  return {{"G7", slow.waiters()}, {"G8", slow.documents()}, {"G9", slow.costs()}};
}

}  // namespace leasehold::properties
