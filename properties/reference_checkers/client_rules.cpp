#include "properties/reference_checkers/reference_checkers.hpp"
#include "properties/reference_checkers/rule_questions.hpp"

/// The rules of clients, from the proof's words.
namespace leasehold::properties {
namespace {

constexpr double kGrains = 2'000;  ///< of a converted time, in ns

double number(std::int64_t value) { return static_cast<double>(value); }

/// How long a second of this process's own clock takes.
double second_of(const model::History& h, const Event& e) {
  const Event* start = last_before(
      h, e, [&](const Event& s) { return s.kind == Kind::start && s.process == e.process; });
  return 1 / (1 + (start == nullptr ? 0 : number(start->clock_drift_ppm)) / 1e6);
}

bool clock_stood(const model::History& h, const Event& e, const Event& since) {
  const Event* last = last_before(
      h, e, [&](const Event& s) { return s.process == e.process && s.suspended; });
  return last != nullptr && (last->kind == Kind::pause || last->at_ns >= since.at_ns);
}

bool is_acknowledged(const model::History& h, const Event& e, const Event& send) {
  const Event* reply = last_before(h, e, [&](const Event& r) {
    return r.kind == Kind::reply && r.process == send.process && r.command == send.command;
  });
  return done(reply) && reply->matched > 0;
}

bool counts_too_long(const model::History& h, const Event& e) {
  if (e.kind != Kind::granted && e.kind != Kind::extended) return false;
  const Event* send = sender_of(h, e, e.lock_id);
  const Event* ask = ask_of(h, e, e);
  if (send == nullptr || ask == nullptr || clock_stood(h, e, *send)) return false;
  if (e.verb != "pass-on" && !is_acknowledged(h, e, *send)) return true;
  const Event* had = first_before(h, e, [&](const Event& d) {
    return (d.kind == Kind::granted || d.kind == Kind::extended) && same_session(d, e) &&
           d.deadline_ns >= e.deadline_ns;
  });
  const double lease = whole_lease(*ask) * (1 - number(ask->max_drift_ppm) / 1e6);
  return had == nullptr && number(e.deadline_ns) > at(send) + lease * second_of(h, e) + kGrains;
}

bool presumes_too_early(const model::History& h, const Event& e) {
  const std::string& whom = e.observed_lock_id;
  if (e.kind != Kind::send || e.verb != "acquire" || whom.empty()) return false;
  const Event* seen = first_before(h, e, [&](const Event& r) {
    return r.kind == Kind::reply && r.process == e.process && r.seen_lock_id.str() == whom;
  });
  if (seen == nullptr) return true;
  const Event* writer = sender_of(h, e, whom);
  const Event* writers = writer == nullptr ? nullptr : ask_of(h, e, *writer);
  const Event* ask = ask_of(h, e, e);
  if (writers == nullptr || ask == nullptr) return false;
  const double wait = whole_lease(*writers) * (1 + number(ask->max_drift_ppm) / 1e6);
  return at(&e) - at(seen) < wait * second_of(h, e) - kGrains;
}

bool ends(const Event& e, const std::string& owner) {
  if (e.kind != Kind::send) return false;
  if (e.verb == "hand-over") return e.giver.str() == owner;
  return model::leaves_lock(e) && (e.owner == owner || e.also_owner.str() == owner);
}

bool is_of_an_ended_owner(const model::History& h, const Event& e, double late) {
  const bool asks = e.kind == Kind::send && (model::asks_for_lock(e) || e.verb == "extend");
  const bool says_yes = e.kind == Kind::held && e.outcome == "yes";
  std::string owner = e.owner;
  if (says_yes || e.kind == Kind::extended) {
    const Event* granted = last_before(
        h, e, [&](const Event& g) { return g.kind == Kind::granted && same_session(g, e); });
    if (granted == nullptr) return false;
    owner = granted->owner;
  } else if (!asks && e.kind != Kind::granted) {
    return false;
  }
  const Event* ended = first_before(h, e, [&](const Event& s) { return ends(s, owner); });
  return ended != nullptr && (!says_yes || number(e.last_asked_ns) > at(ended) + late);
}

}  // namespace

/// "A lockId names one execution of one command, for ever."
int slow_unique_lock_id(const model::History& h) {
  return count_of(h, [&](const Event& e) {
    return e.kind == Kind::send && !e.lock_id.empty() && sender_of(h, e, e.lock_id) != nullptr;
  });
}

/// "A deadline is at most a lease, less the drift, after the sending of an acknowledged write."
int slow_deadline(const model::History& h) {
  return count_of(h, [&](const Event& e) { return counts_too_long(h, e); });
}

/// "A holder is presumed dead only a whole lease, and the drift, after its lockId was first seen."
int slow_presumed_dead(const model::History& h) {
  return count_of(h, [&](const Event& e) { return presumes_too_early(h, e); });
}

/// "After its delete, pass-on or hand-over was sent an owner asks for nothing and holds nothing."
int slow_ended_owner(const model::History& h) {
  const double late = Questions(h).late();
  return count_of(h, [&](const Event& e) { return is_of_an_ended_owner(h, e, late); });
}

}  // namespace leasehold::properties
