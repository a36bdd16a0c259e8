#include "properties/reference_checkers/world_questions.hpp"

#include <algorithm>

namespace leasehold::properties {

WorldQuestions::WorldQuestions(const model::History& h) : h_(h) {
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

const Event* WorldQuestions::of(const Event& session, Kind kind) const {
  return first([&](const Event& e) { return e.kind == kind && same_session(e, session); });
}

Events WorldQuestions::answers(const Event& session, const char* outcome) const {
  return all([&](const Event& e) {
    return e.kind == Kind::held && same_session(e, session) && e.outcome == outcome;
  });
}

Events WorldQuestions::attempts(const Event& session) const {
  return all([&](const Event& e) {
    return e.kind == Kind::send && model::asks_for_lock(e) && same_session(e, session);
  });
}

/// Of those of one kind on one victim, the first to begin is the first to end; some never do.
double WorldQuestions::end_of(const Event& fault) const {
  Events open;
  for (const Event& e : h_) {
    if (e.kind != Kind::fault || e.fault != fault.fault || e.victim != fault.victim) continue;
    if (e.begins) open.push_back(&e);
    if (!e.ends || open.empty()) continue;
    if (open.front() == &fault) return at(&e);
    open.erase(open.begin());
  }
  return fault.begins ? kForever : at(&fault);
}

bool WorldQuestions::disturbed(double from, double to) const {
  return undisturbed_from(from, to) > from;
}

double WorldQuestions::undisturbed_from(double from, double to) const {
  double end = from;
  for (const Event& e : h_) {
    if (e.kind != Kind::fault && e.kind != Kind::no_majority) continue;
    const bool fault = e.kind == Kind::fault;
    const double began = fault ? at(&e) : static_cast<double>(e.from_ns);
    if (began < to) end = std::max(end, fault ? end_of(e) + echo_ : at(&e));
  }
  return end;
}

bool WorldQuestions::stalled(double from, double to) const {
  return first([&](const Event& e) {
           return e.kind == Kind::stall && e.process.empty() &&
                  static_cast<double>(e.from_ns) < to && from < at(&e);
         }) != nullptr;
}

/// Of each moment once, however many stood still at it.
double WorldQuestions::put_off(double from, double latest, bool by_members) const {
  auto stalls = all(Kind::stall);
  std::erase_if(stalls, [&](const Event* e) {
    return !e->process.empty() || (!by_members && e->victim != "machine");
  });
  std::sort(stalls.begin(), stalls.end(),
            [](const Event* a, const Event* b) { return a->from_ns < b->from_ns; });
  double counted = from;  // until then
  for (const Event* e : stalls) {
    const double began = std::max(static_cast<double>(e->from_ns), counted);
    if (began > latest || at(e) <= began) continue;
    latest += at(e) - began;
    counted = at(e);
  }
  return latest;
}

double WorldQuestions::last_sign(const std::string& process) const {
  double sign = 0;
  for (const Event& e : h_) {
    const bool own = e.process == process && e.kind != Kind::stored && e.kind != Kind::crash &&
                     e.kind != Kind::slow;
    if (own) sign = std::max(sign, at(&e));
  }
  return sign;
}

double WorldQuestions::known_alive_until(const std::string& process) const {
  const bool died = first([&](const Event& e) {
                      return e.kind == Kind::crash && e.process == process;
                    }) != nullptr;
  return died ? last_sign(process) : kForever;
}

bool WorldQuestions::ran(const std::string& process, double from, double to) const {
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

std::vector<WorldQuestions::Congestion> WorldQuestions::congestions(
    const std::string& process) const {
  std::vector<Congestion> found;
  for (const Event* e : all(Kind::congestion)) {
    if (e->process != process) continue;
    if (e->begins) found.push_back({at(e), kForever});
    if (e->ends && !found.empty()) found.back().to = at(e);
  }
  return found;
}

double WorldQuestions::sends_by(const std::string& process, double from, double to) const {
  for (const Congestion& one : congestions(process)) {
    if (one.to > from && one.from <= to) to += one.to - std::max(one.from, from);
  }
  return to;
}

bool WorldQuestions::waited_for_worker(const Event& ask, double from, double to,
                                       double sent) const {
  const double by = sends_by(ask.process, from, to);
  if (by == to) return false;
  const double two_leases = 2 * own_lease(ask);
  return sent <= by || from + two_leases <= by || last_sign(ask.process) <= by ||
         !ran(ask.process, from, by);
}

double WorldQuestions::runs_from(const std::string& process, double from) const {
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

bool WorldQuestions::broken(const Bound& b) const {
  const double seen = std::min({b.happened, b.until, finish_});
  return b.happened > b.latest && seen > put_off(b.due, b.latest, b.needs_servers);
}

double WorldQuestions::own_time(const Event& ask, double ns) const {
  const Event* start =
      first([&](const Event& e) { return e.kind == Kind::start && e.process == ask.process; });
  const auto rate = start->clock_drift_ppm != 0 ? start->clock_drift_ppm : -ask.max_drift_ppm;
  return ns * 1e6 / (1e6 + static_cast<double>(rate)) + 500;
}

}  // namespace leasehold::properties
