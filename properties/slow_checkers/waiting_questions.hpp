#pragma once

#include <algorithm>

#include "properties/slow_checkers/questions.hpp"

/// What the twins of G7 ask of those who wait.
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

/// When a bound ends that begins again after an attempt without an answer, of the asking process or
/// of anybody for this name.
inline double while_answered(const Questions& q, const Event& ask, bool by_anybody, double from,
                      double bound) {
  double latest = from + bound;
  for (bool later = true; later;) {
    later = false;
    for (const Event* e : q.all(Kind::send)) {
      const bool counts = e->name == ask.name && (by_anybody || e->process == ask.process);
      if (!model::asks_for_lock(*e) || !counts) continue;
      const Event* reply = q.reply_to(*e);
      if (at(e) >= latest || !unanswered(reply)) continue;
      const double end = reply == nullptr ? q.finish() : at(reply);
      if (end <= from || end + bound <= latest) continue;
      latest = end + bound;
      later = true;
    }
  }
  return latest;
}

}  // namespace leasehold::properties
