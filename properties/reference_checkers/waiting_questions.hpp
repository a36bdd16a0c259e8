#pragma once

#include <algorithm>
#include <optional>

#include "properties/reference_checkers/questions.hpp"

/// What the reference checkers of G7 ask of waiting calls.
namespace leasehold::properties {

inline double waits_until(const Questions& q, const Event& ask) {
  return std::min({at(q.of(ask, Kind::granted)), at(q.of(ask, Kind::ended)), q.finish()});
}

inline double two_attempts(const Questions& q, const Event& ask) {
  const auto own = static_cast<double>(ask.longest_pause_ms + 2 * ask.operation_timeout_ms) * kMs;
  return q.own_time(ask, own) + q.late();
}

/// A lease that one clock counts and another outwaits: (1 + d) / (1 - d), to the next thousandth.
inline double lease_between_clocks(const Event& ask) {
  const auto lease = static_cast<double>(ask.expiry_ms) * kMs;
  return lease * (1.001 + 2 * static_cast<double>(ask.max_drift_ppm) / 1e6);
}

/// An attempt without an answer, of any process.
struct Hanging {
  double from, to, longest;
};

/// Until its caller gave it up at the latest.
inline std::optional<Hanging> hanging(const Questions& q, const Event& send) {
  const Event* reply = q.reply_to(send);
  const Event* ask = q.of(send, Kind::ask);
  if (!model::asks_for_lock(send) || ask == nullptr || !unanswered(reply)) return std::nullopt;
  const auto timeout = static_cast<double>(ask->operation_timeout_ms) * kMs;
  const double longest = q.own_time(*ask, timeout) + q.late();
  return Hanging{at(&send), std::min({at(reply), q.finish(), at(&send) + longest}), longest};
}

/// Whether servers are to blame, or a fault before: not if it was sent long after both the fault
/// and the beginning of the wait.
inline bool excuses(const Questions& q, const Hanging& h, double from) {
  return q.live() || h.from < from + h.longest || q.disturbed(h.from - h.longest, h.to);
}

/// When a bound ends that begins again after an attempt without an answer, and after a congestion,
/// of the asking process or of any for this name.
inline double while_answered(const Questions& q, const Event& ask, bool by_anybody, double from,
                      double bound) {
  double latest = from + bound;
  for (bool later = true; later;) {
    later = false;
    for (const Event* e : q.all(Kind::send)) {
      const bool counts = e->name == ask.name && (by_anybody || e->process == ask.process);
      if (!counts || at(e) >= latest) continue;
      const auto one = hanging(q, *e);
      if (!one || one->to <= from || one->to + bound <= latest || !excuses(q, *one, from)) continue;
      latest = one->to + bound;
      later = true;
    }
    for (const Event* other : q.all(Kind::ask)) {
      if (other->name != ask.name || (!by_anybody && other->process != ask.process)) continue;
      for (const auto& one : q.congestions(other->process)) {
        if (one.from >= latest || one.to <= from || one.to + bound <= latest) continue;
        latest = one.to + bound;
        later = true;
      }
    }
  }
  return latest;
}

}  // namespace leasehold::properties
