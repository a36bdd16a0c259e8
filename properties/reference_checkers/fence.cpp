#include <algorithm>
#include <optional>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// G3 and G4: tokens, and the resource that compares them.
namespace leasehold::properties {
namespace {

/// The time of the write that made this grant, or nothing.
std::optional<std::int64_t> written(const Questions& q, const Event* granted) {
  const Event* put = granted == nullptr ? nullptr : q.put_of(*granted);
  return put == nullptr ? std::nullopt : std::optional(put->order);
}

/// The place of this writer among the holders.
std::optional<std::int64_t> rank(const Questions& q, const Event& stored) {
  return written(
      q, q.first(Kind::granted, [&](const Event& e) { return e.owner == stored.owner; }));
}

/// Whether a later holder has written, or may have by then.
bool overtaken(const Questions& q, const Event& granted, const Event& write) {
  const auto own = written(q, &granted);
  return q.first(Kind::stored, [&](const Event& s) {
    if (s.name != write.name) return false;
    if (at(&s) > at(&write) + q.lag()) return false;
    const auto other = rank(q, s);
    return other && (!own || *other > *own);
  }) != nullptr;
}

/// Whether this write was refused while its user certainly held the lock.
bool refuses_its_holder(const Questions& q, const Event& write) {
  const Event* granted = q.of(write, Kind::granted);
  if (write.outcome != "refused" || granted == nullptr) return false;
  const auto yes = q.answers(write, "yes");
  const bool before = std::any_of(yes.begin(), yes.end(), [&](const Event* e) {
    return e->first_answered_ns <= write.sent_ns;
  });
  const bool after = std::any_of(yes.begin(), yes.end(),
                                 [&](const Event* e) { return e->last_asked_ns >= write.at_ns; });
  return before && after && !overtaken(q, *granted, write);
}

}  // namespace

/// "The fenced resource accepts writes in the order of the holders, and never refuses the current
/// holder."
int slow_fence(const Questions& q) {
  int found = 0;
  for (const Event* a : q.all(Kind::stored)) {
    for (const Event* b : q.all(Kind::stored)) {
      if (a->name != b->name || b->order <= a->order) continue;
      const auto earlier = rank(q, *a), later = rank(q, *b);
      found += earlier && later && *earlier > *later ? 1 : 0;
    }
  }
  for (const Event* w : q.all(Kind::write)) found += refuses_its_holder(q, *w) ? 1 : 0;
  return found;
}

/// "The tokens of one name strictly rise in commit order; each is the time of its grant's own
/// write." A lock of another kind has none: 0.
int slow_token_order(const Questions& q) {
  int found = 0;
  for (const Event* a : q.all(Kind::granted)) {
    const auto first = written(q, a);
    found += !first || (a->token != 0 && *first != a->token) ? 1 : 0;
    for (const Event* b : q.all(Kind::granted)) {
      if (a == b || a->name != b->name || a->token == 0 || b->token == 0) continue;
      const auto second = written(q, b);
      found += first && second && *first < *second && a->token >= b->token ? 1 : 0;
    }
  }
  return found;
}

}  // namespace leasehold::properties
