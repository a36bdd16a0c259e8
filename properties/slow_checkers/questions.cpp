#include "properties/slow_checkers/questions.hpp"

#include <algorithm>

namespace leasehold::properties {
namespace {

bool is_change(const Event& e) { return e.kind == Kind::put || e.kind == Kind::gone; }

}  // namespace

Questions::Questions(const model::History& h) : h_(h) {
  for (const Event& e : h_) {
    if (e.kind == Kind::finish) finish_ = at(&e);
  }
  const Event& run = h.front();
  if (run.ttl_period_ms == 0) return;
  late_ = static_cast<double>(run.lateness_ns);
  ttl_ = static_cast<double>(run.ttl_period_ms) * kMs;
  lag_ = static_cast<double>(run.truth_lag_ns);
  echo_ = static_cast<double>(run.fault_echo_ms) * kMs;
}

const Event* Questions::of(const Event& session, Kind kind) const {
  return first([&](const Event& e) { return e.kind == kind && same_session(e, session); });
}

Events Questions::answers(const Event& session, const char* outcome) const {
  return all([&](const Event& e) {
    return e.kind == Kind::held && same_session(e, session) && e.outcome == outcome;
  });
}

Events Questions::attempts(const Event& session) const {
  return all([&](const Event& e) {
    return e.kind == Kind::send && model::asks_for_lock(e) && same_session(e, session);
  });
}

/// Of those of one kind on one victim, the first to begin is the first to end.
double Questions::end_of(const Event& fault) const {
  Events open;
  for (const Event& e : h_) {
    if (e.kind != Kind::fault || e.fault != fault.fault || e.victim != fault.victim) continue;
    if (e.begins) open.push_back(&e);
    if (!e.ends || open.empty()) continue;
    if (open.front() == &fault) return at(&e);
    open.erase(open.begin());
  }
  return at(&fault);
}

bool Questions::disturbed(double from, double to) const {
  return first([&](const Event& e) {
           return e.kind == Kind::fault && at(&e) < to && from < end_of(e) + echo_;
         }) != nullptr;
}

double Questions::stalled(double from, double to) const {
  double sum = 0;
  for (const Event& e : h_) {
    if (e.kind != Kind::stall || !e.process.empty()) continue;
    const auto began = static_cast<double>(e.from_ns);
    if (began < to && from < at(&e)) sum += at(&e) - began;
  }
  return sum;
}

double Questions::last_sign(const std::string& process) const {
  double sign = 0;
  for (const Event& e : h_) {
    const bool own = e.process == process && e.kind != Kind::stored && e.kind != Kind::crash;
    if (own) sign = std::max(sign, at(&e));
  }
  return sign;
}

double Questions::known_alive_until(const std::string& process) const {
  const bool died = first([&](const Event& e) {
                      return e.kind == Kind::crash && e.process == process;
                    }) != nullptr;
  return died ? last_sign(process) : kForever;
}

bool Questions::ran(const std::string& process, double from, double to) const {
  if (known_alive_until(process) < to) return false;
  for (const Event& e : h_) {
    if (e.process != process) continue;
    if (e.kind == Kind::stall && static_cast<double>(e.from_ns) < to && from < at(&e)) return false;
    if (e.kind != Kind::pause) continue;
    const Event* resumed = first([&](const Event& r) {
      return r.kind == Kind::resume && r.process == process && r.at_ns >= e.at_ns;
    });
    if (at(&e) < to && from < at(resumed)) return false;
  }
  return true;
}

double Questions::runs_from(const std::string& process, double from) const {
  for (bool moved = true; moved;) {
    moved = false;
    for (const Event& e : h_) {
      if (e.process != process || (e.kind != Kind::pause && e.kind != Kind::stall)) continue;
      const double began = e.kind == Kind::pause ? at(&e) : static_cast<double>(e.from_ns);
      const double over = e.kind == Kind::stall ? at(&e) : at(first([&](const Event& r) {
        return r.kind == Kind::resume && r.process == process && r.at_ns >= e.at_ns;
      }));
      if (began > from + late_ || over <= from) continue;
      from = over;
      moved = true;
    }
  }
  return from;
}

bool Questions::broken(const Bound& b) const {
  const double seen = std::min({b.happened, b.until, finish_});
  return b.happened > b.latest && seen - b.latest > stalled(b.from, seen);
}

double Questions::own_time(const Event& ask, double ns) const {
  const Event* start =
      first([&](const Event& e) { return e.kind == Kind::start && e.process == ask.process; });
  const auto rate = start->clock_drift_ppm != 0 ? start->clock_drift_ppm : -ask.max_drift_ppm;
  return ns * 1e6 / (1e6 + static_cast<double>(rate)) + 500;
}

const Event* Questions::reply_to(const Event& send) const {
  return first([&](const Event& e) {
    return e.kind == Kind::reply && e.process == send.process && e.command == send.command;
  });
}

const Event* Questions::sender(const Event& put) const {
  return first([&](const Event& e) { return e.kind == Kind::send && e.lock_id == put.lock_id; });
}

const Event* Questions::put_of(const Event& granted) const {
  return first([&](const Event& e) { return e.kind == Kind::put && e.lock_id == granted.lock_id; });
}

const Event* Questions::change_after(const Event& change, bool only_puts) const {
  const Event* next = nullptr;
  for (const Event& e : h_) {
    if (!is_change(e) || e.name != change.name || e.order <= change.order) continue;
    if (only_puts && e.kind != Kind::put) continue;
    if (next == nullptr || e.order < next->order) next = &e;
  }
  return next;
}

const Event* Questions::change_before(const Event& change) const {
  return change_by(change.name, change.order - 1);
}

const Event* Questions::change_by(const std::string& name, std::int64_t order) const {
  const Event* newest = nullptr;
  for (const Event& e : h_) {
    if (!is_change(e) || e.name != name || e.order > order) continue;
    if (newest == nullptr || e.order > newest->order) newest = &e;
  }
  return newest;
}

Events Questions::deletes_of(const std::string& owner) const {
  return all([&](const Event& e) {
    return e.kind == Kind::send && model::leaves_lock(e) &&
           (e.owner == owner || e.also_owner == owner);
  });
}

Events Questions::hand_overs_of(const std::string& owner) const {
  return all([&](const Event& e) {
    return e.kind == Kind::send && e.verb == "hand-over" && e.giver == owner;
  });
}

const Event* Questions::claimed_by(const Event& change) const {
  return first([&](const Event& e) {
    return e.kind == Kind::reply && model::leaves_lock(e) && done(&e) && e.matched > 0 &&
           e.order == change.order;
  });
}

/// By a release of `owner` that its queue's first has to thank for it, or may have: unanswered.
bool Questions::passed_on(const std::string& owner, const Event& put) const {
  if (const Event* by = claimed_by(put)) return by->owner == owner || by->also_owner == owner;
  const Event* send = sender(put);
  const Event* attempt = send == nullptr ? nullptr : reply_to(*send);
  if (send == nullptr || (attempt != nullptr && attempt->matched > 0)) return false;
  const auto sent = deletes_of(owner);
  return std::any_of(sent.begin(), sent.end(), [&](const Event* one) {
    return one->verb == "pass-on" && one->at_ns <= put.at_ns && unanswered(reply_to(*one));
  });
}

bool Questions::gave_up(const std::string& owner, const Event* next) const {
  if (next == nullptr) return false;
  if (next->kind == Kind::put) {
    if (passed_on(owner, *next)) return true;
    const Event* send = sender(*next);
    return send != nullptr && send->verb == "hand-over" && send->giver == owner;
  }
  for (const Event* one : deletes_of(owner)) {
    const Event* reply = reply_to(*one);
    const bool did = unanswered(reply) || (reply->matched > 0 && reply->order == next->order);
    if (one->at_ns <= next->at_ns && did) return true;
  }
  return false;
}

double Questions::executed_by(const Event& put) const {
  const Event* send = sender(put);
  const Event* reply = send == nullptr ? nullptr : reply_to(*send);
  const Event* by = claimed_by(put);
  if (by != nullptr) return std::min(at(&put), at(by));
  // One that was refused has not written this: a release has, after it.
  if (done(reply) && model::asks_for_lock(*send) && reply->matched == 0) return at(&put);
  return done(reply) ? std::min(at(&put), at(reply)) : at(&put);
}

double Questions::executed_from(const Event& put) const {
  const Event* send = sender(put);
  const double from = send == nullptr ? at(&put) : at(send);
  const Event* by = claimed_by(put);
  if (by == nullptr) return from;
  const Event* release = first([&](const Event& e) {
    return e.kind == Kind::send && e.process == by->process && e.command == by->command;
  });
  return std::max(from, at(release));
}

std::vector<Stay> Questions::stays() const {
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

}  // namespace leasehold::properties
