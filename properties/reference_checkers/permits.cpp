#include <algorithm>

#include "properties/reference_checkers/reference_checkers.hpp"
#include "properties/reference_checkers/waiting_questions.hpp"

/// G7 of calls for permits: they end when they said, no slot stays free while one waits at another,
/// and once faults are over each gets one.
namespace leasehold::properties {
namespace {

const Event* end_of(const Questions& q, const Event& call) {
  return q.first([&](const Event& e) {
    return e.kind == Kind::permit_end && e.process == call.process && e.call == call.call;
  });
}

double commands(const Questions& q, const Event& call, double own_ms) {
  return q.own_time(call, own_ms * kMs) + q.late();
}

double timeouts(const Event& call, int count) {
  return static_cast<double>(count * call.operation_timeout_ms);
}

bool ends_late(const Questions& q, const Event& call) {
  if (!call.single_attempt && call.give_up_ns == 0) return false;
  // Two attempts, and a look between them.
  const double latest = call.single_attempt ? at(&call) + commands(q, call, timeouts(call, 3))
                                            : static_cast<double>(call.give_up_ns) + q.late();
  if (latest >= q.finish() || !q.ran(call.process, at(&call), latest)) return false;
  return q.broken({at(&call), latest, at(end_of(q, call)), kForever, false});
}

bool unserved_when_healed(const Questions& q, const Event& call) {
  const Event* end = end_of(q, call);
  return call.healed && end != nullptr && end->outcome != "granted" &&
         q.ran(call.process, at(&call), at(end));
}

/// Whether the call waited through this time in which a slot was free, and had to notice.
bool leaves_it_free(const Questions& q, const Event& call, double from, double to) {
  from = std::max(from, at(&call));
  if (call.single_attempt || to <= from) return false;
  // A pause between looks, what it does first, and an attempt in vain before this one.
  const double bound = commands(q, call, 1'500 + timeouts(call, 5));
  double latest = from + bound;
  for (std::int64_t slot = 0; slot < call.count; ++slot) {
    Event here = call;
    here.name += '#' + std::to_string(slot);
    latest = std::max(latest, while_answered(q, here, false, from, bound));
  }
  const double until = std::min(at(end_of(q, call)), q.finish());
  if (std::min(until, q.known_alive_until(call.process)) < latest) return false;
  if (q.disturbed(from, latest) || !q.ran(call.process, from, latest)) return false;
  return q.broken({from, latest, to, until});
}

int left_free(const Questions& q, const Event& call) {
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
    found += leaves_it_free(q, call, 0, taken(first)) ? 1 : 0;
    for (const Event* gone : changes) {
      if (gone->kind != Kind::gone) continue;
      found += leaves_it_free(q, call, at(gone), taken(q.change_after(*gone, true))) ? 1 : 0;
    }
  }
  return found + (untried && leaves_it_free(q, call, 0, kForever) ? 1 : 0);
}

}  // namespace

int slow_permit_calls(const Questions& q) {
  int found = 0;
  for (const Event* call : q.all(Kind::permit)) {
    found += ends_late(q, *call) ? 1 : 0;
    found += unserved_when_healed(q, *call) ? 1 : 0;
    found += left_free(q, *call);
  }
  return found;
}

}  // namespace leasehold::properties
