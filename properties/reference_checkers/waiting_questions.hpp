#pragma once

#include <algorithm>
#include <set>
#include <string>

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

/// The attempts of this process for this lock that ended in vain for a reason, each with the pause
/// after it.
inline Delays vain_attempts(const Questions& q, const Event& ask) {
  return q.once("vain " + ask.process + " for " + ask.name, [&] {
    Delays found;
    for (const Event* e : q.all(Kind::send)) {
      if (!model::asks_for_lock(*e) || e->name != ask.name || e->process != ask.process) continue;
      const Event *reply = q.reply_to(*e), *own = q.of(*e, Kind::ask);
      const bool told = reply != nullptr &&
                        (reply->outcome == "done" || reply->outcome == "duplicate_key");
      if (own == nullptr || told) continue;
      const auto takes = [&](std::int64_t ms) {
        return q.own_time(*own, static_cast<double>(ms) * kMs) + q.late();
      };
      const double ended =
          std::min({at(reply), q.finish(), at(e) + takes(own->operation_timeout_ms)});
      const double pause = takes(own->longest_pause_ms);
      if (q.explained(e->process, ended)) found.push_back({at(e), ended + pause});
    }
    return found;
  });
}

/// What delays a process that waits for this lock.
inline Delays of_waiter(const Questions& q, const Event& ask) {
  return together({q.of_servers(ask.process), q.of_worker(ask.process), vain_attempts(q, ask)});
}

/// What keeps the commands of all processes that wait for it.
inline Delays of_all_waiters(const Questions& q, const std::string& name) {
  return q.once("all for " + name, [&] {
    auto found = together({q.disturbances(), q.stalls(true)});
    std::set<std::string> seen;
    for (const Event* ask : q.all(Kind::ask)) {
      if (ask->name != name || !seen.insert(ask->process).second) continue;
      found = together({found, q.slow(ask->process), q.congestions(ask->process),
                        vain_attempts(q, *ask)});
    }
    return found;
  });
}

}  // namespace leasehold::properties
