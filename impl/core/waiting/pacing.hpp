#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/acquire/acquire_call.hpp"
#include "core/bounded_map.hpp"
#include "core/limits.hpp"
#include "core/step.hpp"
#include "core/time.hpp"

namespace leasehold::core {

/// What a provider has seen of other holders: for each name the last lockId and when its first
/// reply was received. A lockId names one execution of one command, so one that has stood for its
/// whole lease proves that its holder is dead, whatever any server's clock says.
///
/// Only this machine's clock counts, and only from the receipt of a reply: how long the reply was
/// on its way can make a holder seem to live longer, never shorter. The same idea is in Amazon's
/// DynamoDB Lock Client (REFERENCES.md).
///
/// INVARIANT: at most kMaxSights names; a sight not confirmed for 10 of its leases is not used.
class HolderObservations {
 public:
  /// A reply received now showed `lock_id` as the holder of `name`. A value of another form than
  /// ours makes it forget the name, because the lease of that holder is unknown.
  void see(const std::string& name, const std::string& lock_id, LocalInstant now);

  /// When the lockId last seen for `name` proves its holder dead.
  [[nodiscard]] std::optional<LocalInstant> presumed_dead_at(const std::string& name,
                                                             double max_drift) const;

  /// The lockId to compare with in an attempt sent now, if its holder is proved dead.
  [[nodiscard]] std::optional<std::string> presumed_dead(const std::string& name, LocalInstant now,
                                                         double max_drift) const;

  /// Whether a reply showed a holder of `name` lately, as for long as a rival is remembered.
  [[nodiscard]] bool seen_lately(const std::string& name, LocalInstant now) const;

 private:
  struct HolderObservation {
    std::string lock_id;
    Duration lease;
    LocalInstant first_seen;
    LocalInstant last_seen;
  };
  BoundedMap<std::string, HolderObservation, kMaxSights> observations_;
};

/// When a call that waits asks again: as its strategy says, or when the holder that was seen is
/// presumed dead if that comes first. It knows what attempts have taught of holders and of paces,
/// by name. It does not know timers, commands or the order of the calls.
///
/// INVARIANT: no attempt is put off beyond a time at which the holder seen last will be presumed
/// dead: a crashed holder costs one lease and not one pause more.
/// INVARIANT: at most kMaxPaces names have a pace; the one not used for longest makes room.
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
  /// Whether another was seen to want this lock lately.
  [[nodiscard]] bool has_rival(const std::string& name, LocalInstant now) const {
    return observations_.seen_lately(name, now);
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

  using ByName = BoundedMap<std::string, Duration, kMaxPaces>;

  HolderObservations observations_;
  ByName paces_;  ///< for strategies that learn
  ByName turns_;  ///< how long after it joined a call asks again, at the earliest
};

}  // namespace leasehold::core
