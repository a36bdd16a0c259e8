#include "properties/reference_checkers/world_questions.hpp"

#include <algorithm>
#include <set>

namespace leasehold::properties {

WorldQuestions::WorldQuestions(const model::History& h) : h_(h) {
  if (!h_.empty()) finish_ = at(&h_.back());
  for (const Event& e : h_) {
    of_kind_[e.kind].push_back(&e);
    if (e.kind == Kind::finish) finish_ = at(&e);
  }
  const Event& run = h.front();
  if (run.ttl_period_ms == 0) return;
  late_ = static_cast<double>(run.lateness_ns);
  ttl_ = static_cast<double>(run.ttl_period_ms) * kMs;
  lag_ = static_cast<double>(run.truth_lag_ns);
  echo_ = static_cast<double>(run.fault_echo_ms) * kMs;
  if (!run.live) unreported_ = 0;
}

const Event* WorldQuestions::of(const Event& session, Kind kind) const {
  return first(kind, [&](const Event& e) { return same_session(e, session); });
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

template <typename Wanted>
Delays WorldQuestions::faults(double echo, const Wanted& wanted) const {
  Delays found;
  for (const Event* e : all(Kind::fault)) {
    if (wanted(*e)) found.push_back({at(e), end_of(*e) + echo});
  }
  return found;
}

bool WorldQuestions::is_process(const std::string& name) const {
  return !name.empty() && first([&](const Event& e) { return e.process == name; }) != nullptr;
}

namespace {

bool of_clock(const Event& e) { return e.fault.str().starts_with("clock"); }
bool of_ttl(const Event& e) {
  return e.fault == "drop-index" || e.fault == "change-index" || e.fault == "ttl-off";
}
bool of_documents(const Event& e) {
  return e.fault == "delete-document" || e.fault == "force-release";
}

}  // namespace

Delays WorldQuestions::disturbances() const {
  return once("disturbances", [&] {
    auto found = faults(echo_, [&](const Event& e) {
      return !of_clock(e) && !of_ttl(e) && !of_documents(e) && !is_process(e.victim.str());
    });
    for (const Event* e : all(Kind::no_majority)) {
      found.push_back({static_cast<double>(e->from_ns), at(e)});
    }
    return found;
  });
}

Delays WorldQuestions::link_faults(const std::string& process) const {
  return once("links of " + process, [&] {
    return faults(echo_, [&](const Event& e) {
      return !of_clock(e) && !of_ttl(e) && !of_documents(e) && e.victim == process;
    });
  });
}

Delays WorldQuestions::clock_faults() const {
  auto drifts = faults(echo_, [](const Event& e) { return of_clock(e) && (e.begins || e.ends); });
  return together({drifts, faults(kForever, [](const Event& e) {
                     return of_clock(e) && !e.begins && !e.ends;
                   })});
}

Delays WorldQuestions::ttl_away() const {
  auto found = together({disturbances(), faults(echo_, of_ttl)});
  for (Delay& one : found) one.to += ttl_pass();
  return together({found, stalls(true)});
}

Delays WorldQuestions::stalls(bool by_members) const {
  Delays found;
  for (const Event* e : all(Kind::stall)) {
    if (!e->process.empty() || (!by_members && e->victim != "machine")) continue;
    found.push_back({static_cast<double>(e->from_ns), at(e)});
  }
  return found;
}

Delays WorldQuestions::away(const std::string& process) const {
  Delays found;
  const Event* crash = nullptr;
  for (const Event& e : h_) {
    if (e.process != process) continue;
    if (e.kind == Kind::stall) found.push_back({static_cast<double>(e.from_ns), at(&e)});
    if (e.kind == Kind::crash) crash = &e;
    if (e.kind != Kind::pause) continue;
    found.push_back({at(&e), at(first([&](const Event& r) {
                       return r.kind == Kind::resume && r.process == process && r.at_ns >= e.at_ns;
                     }))});
  }
  // What it did not live to report.
  if (crash != nullptr) {
    found.push_back({std::max(last_sign(process), at(crash) - unreported_), at(crash)});
  }
  return found;
}

Delays WorldQuestions::slow(const std::string& process) const {
  Delays found;
  for (const Event* e : all(Kind::slow)) {
    if (e->process == process) found.push_back({static_cast<double>(e->from_ns), at(e)});
  }
  return found;
}

Delays WorldQuestions::in_its_life(const std::string& process, Delays delays) const {
  const Event* start = first(Kind::start, [&](const Event& e) { return e.process == process; });
  const double born = start == nullptr ? 0 : at(start), died = alive_until(process);
  std::erase_if(delays, [&](const Delay& one) { return one.to <= born || one.from >= died; });
  return delays;
}

Delays WorldQuestions::of_process(const std::string& process) const {
  return once("process " + process, [&] {
    return in_its_life(process, together({away(process), stalls(false)}));
  });
}

Delays WorldQuestions::of_servers(const std::string& process) const {
  return once("servers for " + process, [&] {
    return in_its_life(process, together({away(process), stalls(true), disturbances(),
                                          slow(process)}));
  });
}

bool WorldQuestions::explained(const std::string& process, double end) const {
  return meets(together({of_servers(process), link_faults(process)}), end - late_ - 1, end + 1);
}

double taken(const Delays& all, double from, double to) {
  std::set<double> borders{from, to};
  for (const Delay& one : all) {
    for (const double border : {one.from, one.to}) {
      if (border > from && border < to) borders.insert(border);
    }
  }
  double sum = 0;
  for (auto begin = borders.begin(); std::next(begin) != borders.end(); ++begin) {
    const double end = *std::next(begin);
    const bool away = std::any_of(all.begin(), all.end(), [&](const Delay& one) {
      return one.from <= *begin && one.to >= end;
    });
    if (away) sum += end - *begin;
  }
  return sum;
}

Delays together(std::initializer_list<Delays> all) {
  Delays found;
  for (const Delays& some : all) found.insert(found.end(), some.begin(), some.end());
  return found;
}

bool meets(const Delays& delays, double from, double to) {
  return std::any_of(delays.begin(), delays.end(),
                     [&](const Delay& one) { return one.from < to && from < one.to; });
}

double put_off(Delays delays, double due, double latest) {
  std::sort(delays.begin(), delays.end(),
            [](const Delay& a, const Delay& b) { return a.from < b.from; });
  double counted = due;  // until then
  for (const Delay& one : delays) {
    const double began = std::max(one.from, counted);
    if (began > latest || one.to <= began) continue;
    latest += one.to - began;
    counted = one.to;
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

double WorldQuestions::alive_until(const std::string& process) const {
  return at(first(Kind::crash, [&](const Event& e) { return e.process == process; }));
}

double WorldQuestions::runs_until(const std::string& process) const {
  const double alive = alive_until(process);
  return alive == kForever ? last_sign(process) : alive;
}

bool WorldQuestions::ran(const std::string& process, double from, double to) const {
  return alive_until(process) >= to && !meets(of_process(process), from, to);
}

bool WorldQuestions::broken(const Bound& b) const {
  const double seen = std::min({b.happened, b.until, finish_});
  return b.happened > b.latest && seen > put_off(b.delays, b.due, b.latest);
}

double WorldQuestions::own_time(const Event& ask, double ns) const {
  const Event* start =
      first(Kind::start, [&](const Event& e) { return e.process == ask.process; });
  const auto rate = start->clock_drift_ppm != 0 ? start->clock_drift_ppm : -ask.max_drift_ppm;
  return ns * 1e6 / (1e6 + static_cast<double>(rate)) + 500;
}

}  // namespace leasehold::properties
