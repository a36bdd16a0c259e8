#pragma once

#include <optional>
#include <vector>

#include "model/verdict/finding.hpp"

/// The waiting calls of a lock, how long they wait, and the attempts without an answer: the input
/// of the checks of G7.
namespace leasehold::model {

/// By how much two clocks within the drift count a lease apart: (1+d)/(1-d), rounded up.
[[nodiscard]] inline std::int64_t drift_of(const Asked& ask) {
  return ask.max_drift_ppm * ask.expiry_ms * 2 + ask.expiry_ms * kMs / 1'000;
}

/// How long this time on the asking process's clock takes at most, and it may be late.
[[nodiscard]] inline std::int64_t at_most(const Digest& d, const Asked& ask, std::int64_t own_ms) {
  return by_our_clock(d, ask, own_ms * kMs) + d.allowed.lateness_ns;
}

/// An attempt without an answer, until its process gave it up: at its operation timeout plus the
/// allowed lateness. Or a time in which commands of the process waited for a worker.
struct Unanswered {
  Id process;
  Span span;
  std::int64_t longest_ns;  ///< from its sending until it is given up at the latest
  bool congestion = false;
  /// The servers may have been slower than `longest_ns`: they were disturbed while it was under way
  /// or that long before, or they are real ones.
  bool slow_servers = false;
};

/// One acquire call that waits.
struct Waiter {
  const SessionDigest* session;
  Span waited;
  std::int64_t lives_until;  ///< so far it is known to wait
  std::int64_t attempts_ns;  ///< how long it may leave a free lock
};

/// The calls for one name, in the order of process and session, and the unanswered attempts, in the
/// order of their begin.
struct Waiters {
  std::vector<Waiter> calls;
  std::vector<Unanswered> unanswered;
  /// The calls that wait for so long that they must have tried: most end sooner.
  std::vector<const Waiter*> patient;
  std::vector<const Waiter*> by_begin;  ///< the same, by the begin of their waiting
  std::vector<std::int64_t> reach;  ///< until when that call, or one before it, waits
  /// How many of that call and those after it must have tried in the time after their begin.
  std::vector<std::int64_t> tried;
};

/// A time in which an attempt is made and answered.
struct Window : Span {
  std::int64_t uncongested = kNever;  ///< its end, had nothing waited for a worker
};

/// By id of the name.
[[nodiscard]] std::vector<Waiters> waiters_by_name(const Digest& d);

/// The window from `from` for `bound`. The bound begins again after each congestion of this process
/// (kNoText: any process) and each attempt of it without an answer, because a call is not late if
/// servers are slower than its operation timeout. If servers are not slow, only an attempt within
/// the first operation timeout counts, because it may have waited behind others; what hangs later
/// is the fault of the process. An attempt counts for all calls of a process, because only the head
/// of its queue makes attempts.
[[nodiscard]] Window while_answered(const Waiters& name, Id process, std::int64_t from,
                                    std::int64_t bound);

/// The window in which this call must have tried, undisturbed; none: it need not have. If that is
/// only because of a disturbance, a pause or a congestion, `excused` counts it.
[[nodiscard]] std::optional<Window> must_have_tried(const Digest& d, const Waiters& name,
                                                    const Waiter& call, std::int64_t from,
                                                    std::int64_t bound,
                                                    Finding* excused = nullptr);

/// When a put executed at the earliest: not before it was sent.
[[nodiscard]] std::int64_t executed_from(const Digest& d, Index put);

}  // namespace leasehold::model
