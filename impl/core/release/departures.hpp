#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/acquire/acquire_call.hpp"
#include "core/held/held_lock.hpp"
#include "core/queue/queues_seen.hpp"
#include "core/release/cleanups.hpp"
#include "core/release/hand_overs.hpp"

namespace leasehold::core {

/// Sends the command that ends each ownership once its session is over, whether that held or only
/// asked: a hand-over inside this process, a pass-on to the first call that waits elsewhere, or a
/// delete. It knows what is under way for the owners that go: the clean-ups, the hand-overs, and
/// for which locks others were seen to queue. It does not know the calls that still wait, nor the
/// locks that are still held.
///
/// INVARIANT: an owner that comes here is dead: no attempt and no extension by it is sent any more.
/// INVARIANT: a clean-up or a hand-over takes care of what an owner may have left, until a majority
/// acknowledges that it has gone, or it has freed itself.
///
///     departures.ended(call, step);          // the delete of what it may have won
///     departures.answered_delete(command, reply, ...)  // -> "report": that lock is free now
class Departures {
 public:
  /// `holder` is the last part of the lockIds that hand-overs write.
  explicit Departures(std::string holder) : hand_overs_(std::move(holder)) {}

  /// A document of this lock was shown, with or without a queue.
  void see(const std::string& name, const LockDocument& document, LocalInstant now) {
    queues_seen_.see(name, document, now);
  }

  /// The handle of this session has ended: how its lock goes, unless it is handed over. Nothing is
  /// sent yet, because a call that waits here may come first.
  [[nodiscard]] Cleanup release_of(const HeldLock& lock, SessionId session, Step step);
  /// Sends that.
  void start(Cleanup release, SendingStep step);
  /// A number for the hand-over that follows: its receiver has to know it before it is sent.
  CleanupId new_id() { return cleanups_.new_id(); }
  /// The lock goes from the owner of the handle that has ended to the receiver's.
  void hand_over(CleanupId id, Cleanup giver, SessionId to, const AcquireCall& receiver,
                 SendingStep step);

  /// `max_holding` of this lock is over: others may have it before its handle is released.
  void give_back(const HeldLock& lock, SendingStep step);
  /// This call has ended: what it may have won goes, and its entry in the lock's queue.
  void ended(const AcquireCall& call, SendingStep step);
  /// What this call won was over before it could be used. The call goes on, by another owner.
  void won_too_late(const AcquireCall& call, SendingStep step);

  /// The attempt that an ended call had under way was answered, or never will be.
  void answered_attempt(CleanupId id, const Reply& reply, SendingStep step);
  /// A hand-over was answered; none: its receiver has ended, and no call has the lock by it.
  [[nodiscard]] std::optional<HandOvers::Answer> answered_hand_over(const PendingCommand& command,
                                                                    const Reply& reply,
                                                                    SendingStep step);
  /// A delete or a pass-on was answered. Returns the lock if it has certainly left this process.
  [[nodiscard]] std::optional<std::string> answered_delete(const PendingCommand& command,
                                                           const Reply& reply, SendingStep step);
  /// The stream reports that another process passed the lock to this owner, of no call that waits.
  void granted(const NamedOwner& named, Owner owner, SendingStep step);

  /// A cleanup timer fired.
  void due(CleanupId id, bool waited_in_line, SendingStep step);
  /// A report timer fired.
  void report_unknown(CleanupId id, Step step);

  /// Those that no majority has acknowledged yet.
  [[nodiscard]] std::size_t left() const { return cleanups_.left() + hand_overs_.left(); }

  void mix_into(HashMixer& hash) const { cleanups_.mix_into(hash); }
  bool operator==(const Departures&) const = default;

 private:
  [[nodiscard]] Cleanup::By way_out(const std::string& name, const LockOptions& options,
                                    LocalInstant now) const;
  [[nodiscard]] Cleanup cleanup_of(const HeldLock& lock, LocalInstant now) const;
  [[nodiscard]] Cleanup cleanup_of(const AcquireCall& call, LocalInstant now) const;
  void remember(const std::string& name, Owner owner, const LockOptions& options, LocalInstant now);

  HandOvers hand_overs_;
  Cleanups cleanups_;
  QueuesSeen queues_seen_;
};

}  // namespace leasehold::core
