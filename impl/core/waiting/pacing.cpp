#include "core/waiting/pacing.hpp"

#include <algorithm>

namespace leasehold::core {
namespace {

/// An entry outlives two renewals: one that is lost or late does not lose the place. A waiter that
/// crashed is passed over after that.
constexpr int kRenewalsOfEntry = 3;

/// A strategy may be the application's own: its pause is held to the bound that it gives itself.
Duration bounded(const WaitingStrategy& waiting, Duration pause) {
  const auto longest = std::clamp<Duration>(waiting.longest_pause(), Duration(0), kLongestDuration);
  return std::clamp<Duration>(pause, Duration(0), longest);
}

}  // namespace

/// The pause of a call that is queued and is notified when its turn has come. The wait
/// before there was room does not count: its place is as new as any other. At most a third of the
/// lease, so that a grant finds an attempt recent enough to count from.
Duration Pacing::renewal_of(const AcquireCall& call, LocalInstant now) const {
  const WaitingStrategy& waiting = *call.options.waiting;
  const Duration waited = now - call.place.stands_since(now);
  const Duration usual = turns_.pace(call.name).value_or(Duration(0));
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
  if (longer || turns_.pace(call.name)) turns_.keep(call.name, usual);
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
  paces_.keep(call.name, call.options.waiting->next_pace(seen_by(call, !won, now), won));
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
  return {.attempts = std::max(call.attempts, 1),
          .refused = refused,
          .waited = now - call.contends_since,
          .pace = paces_.pace(call.name),
          .last_pause = call.last_pause,
          .room_in = call.place.room_in()};
}

}  // namespace leasehold::core
