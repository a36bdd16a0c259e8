#include "core/waiting/pacing.hpp"

#include <algorithm>

#include "core/document/lock_id.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

/// An entry outlives two renewals: one that is lost or late does not lose the place. A waiter that
/// crashed is passed over after that.
constexpr int kRenewalsOfEntry = 3;

/// After so many leases without a look another process has surely taken or renewed the lock.
constexpr int kDropAfterLeases = 10;

/// A strategy may be the application's own: its pause is held to the bound that it gives itself.
Duration bounded(const WaitingStrategy& waiting, Duration pause) {
  const auto longest = std::clamp<Duration>(waiting.longest_pause(), Duration(0), kLongestDuration);
  return std::clamp<Duration>(pause, Duration(0), longest);
}

}  // namespace

/// The first sight counts, not the last: the lease of that execution cannot end later than one
/// lease after it was first seen.
void HolderObservations::see(const std::string& name, const std::string& lock_id,
                             LocalInstant now) {
  const auto parts = parse_lock_id(lock_id);
  // The lockId of our form is gone; the lease of the holder that is there now is unknown.
  if (!parts) {
    observations_.erase(name);
    return;
  }
  const auto* const before = observations_.find(name);
  const bool same = before != nullptr && before->lock_id == lock_id;
  const auto first_seen = same ? before->first_seen : now;
  observations_.keep(name, {lock_id, std::chrono::milliseconds(parts->lease_ms), first_seen, now});
}

/// The drift is of the call that asks: calls for one name may have different options.
std::optional<LocalInstant> HolderObservations::presumed_dead_at(const std::string& name,
                                                                 double max_drift) const {
  const auto* const found = observations_.find(name);
  if (found == nullptr) return std::nullopt;
  return sight_matures(found->first_seen, found->lease, max_drift);
}

/// The server compares it with the document inside the write: a holder that has extended since the
/// last look keeps its lock.
std::optional<std::string> HolderObservations::presumed_dead(const std::string& name,
                                                             LocalInstant now,
                                                             double max_drift) const {
  const auto at = presumed_dead_at(name, max_drift);
  if (!at || now < *at) return std::nullopt;
  const auto& sight = *observations_.find(name);
  // Long unconfirmed: it was surely renewed or taken since, and the server would refuse.
  if (now - sight.last_seen > kDropAfterLeases * sight.lease) return std::nullopt;
  return sight.lock_id;
}

bool HolderObservations::seen_lately(const std::string& name, LocalInstant now) const {
  const auto* const found = observations_.find(name);
  return found != nullptr && now - found->last_seen < kRivalMemory;
}

/// The pause of a call that is queued and is notified when its turn has come. The wait
/// before there was room does not count: its place is as new as any other. At most a third of the
/// lease, so that a grant finds an attempt recent enough to count from.
Duration Pacing::renewal_of(const AcquireCall& call, LocalInstant now) const {
  const WaitingStrategy& waiting = *call.options.waiting;
  const Duration waited = now - call.place.stands_since(now);
  const auto* const turn = turns_.find(call.name);
  const Duration usual = turn == nullptr ? Duration(0) : *turn;
  const Duration pause = bounded(waiting, std::max(*waiting.renewal(waited), usual - waited));
  return std::min<Duration>(pause, call.options.expiry / 3);
}

/// Rounded up: servers date in ms, and a place must not end before its last renewal is due.
std::chrono::milliseconds Pacing::entry_is_good_for(const AcquireCall& call,
                                                    LocalInstant now) const {
  return std::chrono::ceil<std::chrono::milliseconds>(kRenewalsOfEntry * renewal_of(call, now));
}

/// Half as much again is left for a queue that is longer now. What is no longer than the strategy's
/// own renewal teaches nothing, and takes no room.
void Pacing::keep_turn(const AcquireCall& call, Duration took) {
  const WaitingStrategy& waiting = *call.options.waiting;
  const Duration usual = bounded(waiting, took + took / 2);
  const bool longer = usual > *waiting.renewal(Duration(0));
  if (longer || turns_.find(call.name) != nullptr) turns_.keep(call.name, usual);
}

/// A lock that came otherwise shows that a place there may be lost: the next call asks early again.
void Pacing::learn_turn(const AcquireCall& call, bool by_queue, LocalInstant now) {
  if (!call.queues() || !call.place.stands()) return;
  keep_turn(call, by_queue ? now - call.place.stands_since(now) : Duration(0));
}

/// Only what an attempt shows teaches: without an answer it is unknown whether the lock was free.
void Pacing::learn(const AcquireCall& call, bool won, LocalInstant now) {
  if (const auto lasts = call.place.full_queue_lasts(); lasts > Duration(0)) keep_turn(call, lasts);
  // A call that gets its turn by the queue says nothing of how often to ask.
  if (call.place.awaits_news) return;
  const auto pace = call.options.waiting->next_pace(seen_by(call, !won, now), won);
  if (pace) paces_.keep(call.name, *pace);  // a strategy that does not learn takes no room
}

/// One number is drawn in any case, because the draws of a run must not depend on whether a stream
/// is open.
LocalInstant Pacing::next_attempt_at(AcquireCall& call, bool refused, bool stream_open,
                                     Step step) const {
  const auto random = step.entropy.draw();
  call.place.awaits_news = stream_open && call.place.stands();
  if (call.place.awaits_news) {
    call.last_pause = renewal_of(call, step.now);
  } else {
    const WaitingStrategy& waiting = *call.options.waiting;
    call.last_pause = bounded(waiting, waiting.pause(seen_by(call, refused, step.now), random));
  }
  const auto at = step.now + call.last_pause;
  const auto dead_at = observations_.presumed_dead_at(call.name, call.options.max_drift);
  return dead_at && *dead_at > step.now ? std::min(at, *dead_at) : at;
}

/// The new head inherits the attempt time of the call before it, so that short-lived callers do not
/// raise the poll rate. It asks earlier if its own strategy says so, or at half of its timeout: the
/// lock may be free, and the reply needs the other half.
LocalInstant Pacing::first_attempt_at(AcquireCall& call, LocalInstant at_latest, bool stream_open,
                                      Step step) const {
  if (at_latest <= step.now) return at_latest;
  const auto at = std::min(at_latest, next_attempt_at(call, true, stream_open, step));
  return call.give_up_at ? std::min(at, step.now + (*call.give_up_at - step.now) / 2) : at;
}

/// A head before its first attempt counts as after one, because pauses grow with attempts.
AttemptSeen Pacing::seen_by(const AcquireCall& call, bool refused, LocalInstant now) const {
  const auto* const pace = paces_.find(call.name);
  return {.attempts = std::max(call.attempts, 1),
          .refused = refused,
          .waited = now - call.contends_since,
          .pace = pace == nullptr ? std::nullopt : std::optional(*pace),
          .last_pause = call.last_pause,
          .room_in = call.place.room_in()};
}

}  // namespace leasehold::core
