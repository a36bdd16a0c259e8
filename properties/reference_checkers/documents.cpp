#include <algorithm>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// G8: "a dead holder's document disappears within expiry + 2 clock_margin and a TTL pass."
namespace leasehold::properties {
namespace {

/// A call that ended without the lock, and whose process could have, did not clean up what was
/// there then.
bool leaves_what_it_won(const Questions& q, const Stay& s) {
  const Event* ended = q.of(*s.ask, Kind::ended);
  if (ended == nullptr || !q.deletes_of(s.owner).empty() || q.gives_away(s.owner)) return false;
  if (s.next != nullptr && s.next->at_ns <= ended->at_ns) return false;
  const auto timeout = static_cast<double>(s.ask->operation_timeout_ms) * kMs;
  return q.broken({at(ended), at(ended) + timeout + q.lag(), kForever,
                   q.sends_until(*s.ask, at(ended)), q.of_worker(s.ask->process)});
}

/// "... and once more after an operation timeout": what was executed in between does not stay.
bool stays_after_the_delete(const Questions& q, const Stay& s) {
  const Event* answer = nullptr;
  for (const Event* one : q.deletes_of(s.owner)) {
    if (one->at_ns > s.put->at_ns) return false;
    const Event* reply = q.reply_to(*one);
    if (answer == nullptr && done(reply)) answer = reply;
  }
  if (s.send->verb != "acquire" || answer == nullptr) return false;
  const auto timeout = static_cast<double>(s.ask->operation_timeout_ms) * kMs;
  const double fast = 1 - static_cast<double>(s.ask->max_drift_ppm) / 1e6;
  const bool between = s.put->order > answer->order && at(s.put) < at(answer) + timeout * fast;
  return between &&
         q.broken({at(answer), at(answer) + q.own_time(*s.ask, timeout) + q.late(), kForever,
                   q.sends_until(*s.ask, at(answer) + timeout * fast),
                   q.of_worker(s.ask->process)});
}

/// A handle that hands over has no attempt on the way.
bool handed_over_too_early(const Questions& q, const Stay& s) {
  return s.send->verb == "acquire" && q.first([&](const Event& e) {
    const bool given = e.kind == Kind::reply && e.verb == "hand-over" && e.giver == s.owner;
    return given && done(&e) && e.matched == 1 && e.order < s.put->order;
  }) != nullptr;
}

bool stays_too_long(const Questions& q, const Stay& s) {
  const double expired =
      q.executed_by(*s.put) +
      static_cast<double>(s.ask->expiry_ms + 2 * s.ask->clock_margin_ms) * kMs;
  if (s.next == nullptr && !q.oplog_read()) return false;
  const double went = s.next == nullptr            ? kForever
                      : s.next->kind == Kind::gone ? at(s.next)
                                                   : q.executed_from(*s.next);
  return q.broken({expired, expired + q.ttl_pass(), went, kForever, q.ttl_away()});
}

}  // namespace

int slow_cleanup(const Questions& q) {
  int found = 0;
  for (const Stay& s : q.stays()) {
    found += handed_over_too_early(q, s) ? 1 : 0;
    if (q.gave_up(s.owner, s.next)) continue;
    found += stays_after_the_delete(q, s) ? 1 : 0;
    found += leaves_what_it_won(q, s) ? 1 : 0;
    found += stays_too_long(q, s) ? 1 : 0;
  }
  return found;
}

}  // namespace leasehold::properties
