#pragma once

#include <map>
#include <vector>

#include "model/verdict/finding.hpp"

/// The waiting calls of a lock, how long they wait, and what delays them: the input of the checks
/// of G7.
namespace leasehold::model {

/// By how much two clocks within the drift count a lease apart: (1+d)/(1-d), rounded up.
[[nodiscard]] inline std::int64_t drift_of(const Fact& ask) {
  return ask->max_drift_ppm * ask->expiry_ms * 2 + ask->expiry_ms * kMs / 1'000;
}

/// How long this time on the asking process's clock takes at most, and it may be late.
[[nodiscard]] inline std::int64_t at_most(const Digest& d, const Fact& ask, std::int64_t own_ms) {
  return by_our_clock(d, ask, own_ms * kMs) + d.allowed.lateness_ns;
}

/// One acquire call that waits.
struct Waiter {
  const SessionDigest* session;
  Span waited;
  std::int64_t lives_until;  ///< so far it is known to wait
  std::int64_t attempts_ns;  ///< how long it may leave a free lock
};

/// The calls for one name, in the order of process and session.
struct Waiters {
  std::vector<Waiter> calls;
  /// The calls that wait for so long that they must have tried: most end sooner.
  std::vector<const Waiter*> patient;
  std::vector<const Waiter*> by_begin;  ///< the same, by the begin of their waiting
  std::vector<std::int64_t> reach;  ///< until when that call, or one before it, waits
  /// By process: when no attempt of it could be made and answered. That is the time that stands
  /// still for its commands, and of each attempt in vain that this explains the time until it ended
  /// and its process's longest pause. It counts for all calls of the process, because only the head
  /// of its queue makes attempts.
  std::map<Id, MergedSpans> delays;
  /// Those of anybody, and these.
  [[nodiscard]] MergedSpans delays_with(const MergedSpans& own) const {
    auto all = anybodys.all();
    all.insert(all.end(), own.all().begin(), own.all().end());
    return MergedSpans(std::move(all));
  }
  MergedSpans anybodys;  ///< of all its processes together, but for what stops a process itself
};

/// By id of the name.
[[nodiscard]] std::vector<Waiters> waiters_by_name(const Digest& d);

/// When a put executed at the earliest: not before it was sent.
[[nodiscard]] std::int64_t executed_from(const Digest& d, Index put);

}  // namespace leasehold::model
