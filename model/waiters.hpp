#pragma once

#include <optional>
#include <vector>

#include "model/finding.hpp"

/// Who waits for a lock, for how long, and what servers left unanswered: what G7 is checked by.
namespace leasehold::model {

/// By how much two clocks within the drift count a lease apart: (1+d)/(1-d), rounded up.
[[nodiscard]] inline std::int64_t drift_of(const Asked& ask) {
  return ask.max_drift_ppm * ask.expiry_ms * 2 + ask.expiry_ms * kMs / 1'000;
}

/// An attempt without an answer, until its process gave it up: after its operation timeout, and
/// as late as the world allows. Or what the process had to send waited for a worker.
struct Unanswered {
  Id process;
  Span span;
  std::int64_t longest_ns;  ///< from its sending until it is given up at the latest
  bool congestion = false;
  /// The servers may have been slower than that: they were disturbed while it was under way or that
  /// long before, or they are real ones.
  bool slow_servers = false;
};

/// One acquire call that waits.
struct Waiter {
  const SessionDigest* session;
  Span waited;
  std::int64_t lives_until;  ///< so far it is known to wait
  std::int64_t attempts_ns;  ///< how long it may leave a free lock
};

/// Who asks for one name, in the order of process and session, and when no attempt was answered, in
/// the order of their begin.
struct Waiters {
  std::vector<Waiter> calls;
  std::vector<Unanswered> unanswered;
  /// Those who wait for so long that they must have tried: most calls end sooner.
  std::vector<const Waiter*> patient;
  std::vector<const Waiter*> by_begin;  ///< the same, by the begin of their waiting
  std::vector<std::int64_t> reach;  ///< until when one of them, or of those before, waits
  /// How many of them, and of those after, must have tried in the time after they came.
  std::vector<std::int64_t> tried;
};

/// Within it an attempt is made and answered.
struct Window : Span {
  std::int64_t uncongested = kNever;  ///< by then, had nothing waited for a worker
};

/// By id of the name.
[[nodiscard]] std::vector<Waiters> waiters_by_name(const Digest& d);

/// From then on for `bound`, which begins again after each congestion of this process (empty: any)
/// and each attempt of it that had no answer: nobody is late on servers which are slower than its
/// operation timeout. Where servers are not slow only an attempt of the first operation timeout
/// counts, for it may have stood behind others: after that a process is to blame for what hangs in
/// it. It counts for all calls of a process, for only the head of its queue makes attempts.
[[nodiscard]] Window while_answered(const Waiters& name, Id process, std::int64_t from,
                                    std::int64_t bound);

/// Whether this one waits from then on for so long that it must have tried, undisturbed. If only a
/// disturbance or a pause says that it need not have, `excused` counts that.
[[nodiscard]] std::optional<Window> must_have_tried(const Digest& d, const Waiters& name,
                                                    const Waiter& call, std::int64_t from,
                                                    std::int64_t bound,
                                                    Finding* excused = nullptr);

/// When a put executed at the earliest: no write does before it was sent.
[[nodiscard]] std::int64_t executed_from(const Digest& d, Index put);

}  // namespace leasehold::model
