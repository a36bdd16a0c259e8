#include <algorithm>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// G1 and G2: handles that hold at the same time.
namespace leasehold::properties {

/// "A lease is never given to another before it ran out or was released."
int slow_leases(const Questions& q) {
  int found = 0;
  for (const Stay& s : q.stays()) {
    const Event* given = q.change_after(*s.put, true);
    if (given == nullptr || q.gave_up(s.owner, s.next)) continue;
    if (model::owner_of(given->lock_id) == s.owner) continue;
    const Event* taker = q.sender(*given);
    if (taker == nullptr || q.of(*taker, Kind::ask) == nullptr) continue;
    found += q.executed_by(*given) < at(s.send) + whole_lease(*s.ask) ? 1 : 0;
  }
  return found;
}

namespace {

/// What `held()` said of one grant: from its first yes to its last, if that is certain.
struct Held {
  const Event* granted;
  double from = kForever, to = -1;
};

Held held(const Questions& q, const Event& granted) {
  Held span{&granted};
  for (const Event* yes : q.answers(granted, "yes")) {
    span.from = std::min(span.from, static_cast<double>(yes->first_answered_ns));
    span.to = std::max(span.to, static_cast<double>(yes->last_asked_ns));
  }
  return span;
}

/// "It turns false for ever, and with the release at the latest."
bool holds_too_long(const Questions& q, const Held& one) {
  for (const Event* no : q.answers(*one.granted, "no")) {
    if (one.to > static_cast<double>(no->first_answered_ns)) return true;
  }
  return one.to > at(q.of(*one.granted, Kind::release)) + q.late();
}

}  // namespace

/// "`held()` is never true in two processes at once for one lock."
int slow_exclusion(const Questions& q) {
  int found = 0;
  for (const Event* a : q.all(Kind::granted)) {
    const Held one = held(q, *a);
    if (one.from > one.to) continue;
    found += holds_too_long(q, one) ? 1 : 0;
    for (const Event* b : q.all(Kind::granted)) {
      if (a == b || a->name != b->name) continue;
      const Held other = held(q, *b);
      found += one.from < other.to && other.from < one.to ? 1 : 0;
    }
  }
  return found;
}

}  // namespace leasehold::properties
