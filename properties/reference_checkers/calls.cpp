#include <algorithm>
#include <set>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// calls: "what a user calls returns by the time that it was given, with an error that its header
/// promises and that the call met, or with what the lock became. What remaining() and ensure() say
/// is covered by a lease."
namespace leasehold::properties {
namespace {

constexpr double kOff = 10'000;  ///< of a time that was converted, in ns

const Event* answer_to(const Questions& q, const Event& call) {
  return q.first([&](const Event& e) {
    return e.kind == Kind::returned && e.process == call.process && e.call == call.call;
  });
}

/// When the process's clock stood still with its machine.
Delays suspensions(const Questions& q, const std::string& process) {
  Delays found;
  for (const Event* e : q.all([&](const Event& e) { return e.process == process; })) {
    if (e->kind != Kind::pause) continue;
    const Event* resumed = q.first([&](const Event& r) {
      return r.kind == Kind::resume && r.process == process && r.at_ns >= e->at_ns;
    });
    if (resumed != nullptr && resumed->suspended) found.push_back({at(e), at(resumed)});
  }
  return found;
}

bool late(const Questions& q, const Event& call) {
  if (call.give_up_ns == 0) return false;
  const Event* end = answer_to(q, call);
  const double said = static_cast<double>(call.give_up_ns) + q.late();
  const Event* killed = q.first([&](const Event& e) {
    return e.kind == Kind::crash && e.process == call.process && e.from_ns != 0;
  });
  const double kept_from = killed == nullptr ? kForever : static_cast<double>(killed->from_ns);
  const bool kept = end != nullptr && end->from_ns != 0;
  const double returned = kept ? static_cast<double>(end->from_ns) : at(end);
  return q.broken({at(&call), said, returned, std::min(q.alive_until(call.process), kept_from),
                   q.of_process(call.process)});
}

bool wrongly_acquired(const Questions& q, const Event& call, const Event& end) {
  const auto between = [&](const Event& e) {
    return e.process == call.process && e.at_ns >= call.at_ns && e.at_ns <= end.at_ns;
  };
  if (end.outcome == "granted") {
    const Event* granted = q.of(end, Kind::granted);
    return end.session == 0 || granted == nullptr || !between(*granted) ||
           granted->token != end.token || granted->name != call.name;
  }
  const std::set<std::string> of_any{"timed_out", "cancelled", "shut_down", "configuration"};
  const std::set<std::string> of_one{"refused", "unavailable", "unknown_outcome"};
  if (of_any.count(end.outcome) == 0 && !(call.single_attempt && of_one.count(end.outcome) > 0)) {
    return true;
  }
  if (end.outcome == "configuration" && q.first([&](const Event& e) {
        return e.kind == Kind::reply && between(e) && e.outcome == "configuration";
      }) == nullptr) {
    return true;
  }
  const auto asked = q.all([&](const Event& e) {
    return e.kind == Kind::ask && between(e) && e.name == call.name;
  });
  if (asked.empty() && end.outcome == "cancelled") return false;
  return std::none_of(asked.begin(), asked.end(), [&](const Event* ask) {
    const Event* ended = q.of(*ask, Kind::ended);
    return ended != nullptr && ended->at_ns <= end.at_ns && ended->outcome == end.outcome;
  });
}

bool wrongly_released(const Questions& q, const Event& call, const Event& end) {
  const Event* found = q.of(call, Kind::released);
  return found == nullptr || found->at_ns > end.at_ns || found->outcome != end.outcome;
}

/// The latest deadline that the handle had by then.
double deadline(const Questions& q, const Event& handle, double by) {
  const Event* best = nullptr;
  for (const Event* e : q.all([&](const Event& e) {
         return (e.kind == Kind::granted || e.kind == Kind::extended) && same_session(e, handle) &&
                at(&e) <= by;
       })) {
    if (best == nullptr || e->deadline_ns > best->deadline_ns) best = e;
  }
  if (best == nullptr) return 0;
  return static_cast<double>(best->deadline_ns) +
         taken(suspensions(q, handle.process), at(best), by);
}

bool over(const Questions& q, const Event& handle, double by) {
  return at(q.of(handle, Kind::lost)) <= by || at(q.of(handle, Kind::release)) <= by;
}

bool wrongly_ensured(const Questions& q, const Event& call, const Event& end) {
  const auto wanted = static_cast<double>(end.deadline_ns);
  if (end.outcome != "yes") {
    return !over(q, call, at(&end)) &&
           deadline(q, call, at(&call) - q.late()) > wanted + q.late() + kOff;
  }
  const double stood = taken(q.of_process(call.process), at(&call), at(&end)) + q.late();
  return over(q, call, at(&call)) || wanted - stood > deadline(q, call, at(&end)) + kOff;
}

bool too_much_remains(const Questions& q, const Event& held) {
  if (held.deadline_ns == 0) return false;
  const auto said = static_cast<double>(held.deadline_ns);
  return held.outcome == "no" ||
         said > deadline(q, held, static_cast<double>(held.first_answered_ns)) + kOff;
}

}  // namespace

int slow_calls(const Questions& q) {
  int found = 0;
  for (const Event* call : q.all(Kind::call)) {
    found += late(q, *call) ? 1 : 0;
    const Event* end = answer_to(q, *call);
    if (end == nullptr) continue;
    const std::string& what = call->verb;
    const bool acquires = what == "try_acquire" || what == "acquire_async";
    const bool releases = what == "release" || what == "release_async";
    if (acquires) found += wrongly_acquired(q, *call, *end) ? 1 : 0;
    if (releases) found += wrongly_released(q, *call, *end) ? 1 : 0;
    if (what == "ensure") found += wrongly_ensured(q, *call, *end) ? 1 : 0;
  }
  for (const Event* held : q.all(Kind::held)) found += too_much_remains(q, *held) ? 1 : 0;
  return found;
}

}  // namespace leasehold::properties
