#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/acquire/acquire_call.hpp"
#include "core/acquire/holder_observations.hpp"
#include "core/bounded_map.hpp"
#include "core/limits.hpp"
#include "core/step.hpp"
#include "core/time.hpp"

namespace leasehold::core {

/// The pace of each name that a provider contended for, on behalf of strategies that learn.
///
/// INVARIANT: at most kMaxPaces names; the one not used for longest makes room.
class PaceEstimates {
 public:
  /// None: no call that learns has had an answer for this name yet, or it made room.
  [[nodiscard]] std::optional<Duration> pace(const std::string& name) const {
    const auto* const found = paces_.find(name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  /// What an attempt made of the pace of its name; none: nothing.
  void keep(const std::string& name, const std::optional<Duration>& next) {
    if (next) paces_.keep(name, *next);  // a strategy that does not learn takes no room
  }

 private:
  BoundedMap<std::string, Duration, kMaxPaces> paces_;
};

/// When a call that waits asks again: as its strategy says, or when the holder that was seen is
/// presumed dead if that comes first. It knows what attempts have taught of holders and of paces,
/// by name. It does not know timers, commands or the order of the calls.
///
/// INVARIANT: no attempt is put off beyond a time at which the holder seen last will be presumed
/// dead: a crashed holder costs one lease and not one pause more.
///
///     pacing.see_holder("report", reply.documents.front().lock_id, now);
///     const LocalInstant at = pacing.next_attempt_at(call, true, false, step);
class Pacing {
 public:
  /// A reply received now showed this lockId as the holder's.
  void see_holder(const std::string& name, const std::string& lock_id, LocalInstant now) {
    observations_.see(name, lock_id, now);
  }
  /// The lockId to compare with in an attempt sent now, if its holder is presumed dead.
  [[nodiscard]] std::optional<std::string> presumed_dead(const AcquireCall& call,
                                                         LocalInstant now) const {
    return observations_.presumed_dead(call.name, now, call.options.max_drift);
  }

  /// An attempt of this call won or was refused. REQUIRES: the call is as it was when it made it
  void learn(const AcquireCall& call, bool won, LocalInstant now);
  /// This call won: because the queue served it, or otherwise. How long it was queued is how long
  /// the next call of this name waits before it asks again, if nothing comes before.
  void learn_turn(const AcquireCall& call, bool by_queue, LocalInstant now);

  /// For how long the entry is good that an attempt sent now leaves in the lock's queue.
  /// REQUIRES: the call queues
  [[nodiscard]] std::chrono::milliseconds entry_is_good_for(const AcquireCall& call,
                                                            LocalInstant now) const;

  /// After an attempt that won nothing, `refused` or without an answer. `stream_open`, here and
  /// below: whether a change stream is open that reports what this call waits for. What the call
  /// then waits for, and for how long, is noted in it.
  LocalInstant next_attempt_at(AcquireCall& call, bool refused, bool stream_open, Step step) const;
  /// The first attempt of a call that becomes the head of its queue: at that time at the latest.
  LocalInstant first_attempt_at(AcquireCall& call, LocalInstant at_latest, bool stream_open,
                                Step step) const;

 private:
  [[nodiscard]] AttemptSeen seen_by(const AcquireCall& call, bool refused, LocalInstant now) const;
  [[nodiscard]] Duration renewal_of(const AcquireCall& call, LocalInstant now) const;
  void keep_turn(const AcquireCall& call, Duration took);

  HolderObservations observations_;
  PaceEstimates paces_;
  PaceEstimates turns_;  ///< by name: how long after it joined a call asks again, at the earliest
};

}  // namespace leasehold::core
