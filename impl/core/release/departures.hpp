#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "core/acquire/acquire_call.hpp"
#include "core/bounded_map.hpp"
#include "core/held/held_lock.hpp"
#include "core/limits.hpp"
#include "core/release/departure.hpp"

namespace leasehold::core {

/// The owners of a provider that leave the database once their session is over, whether that held
/// or only asked. Each leaves by a hand-over inside this process, a pass-on to the first call that
/// waits elsewhere, or a delete. This class does not know the calls that still wait, nor the locks
/// that are still held.
///
/// INVARIANT: an owner that comes here is dead: no attempt and no extension by it is sent any more.
/// INVARIANT: what an owner may have left is taken care of until a majority acknowledges that it
/// has gone, or it has freed itself.
/// INVARIANT: the giver's handle was over before the first command of a hand-over was sent, so
/// held() is never true for both.
///
///     departures.ended(call, step);          // the delete of what it may have won
///     departures.answered_delete(command, reply, ...)  // -> "report": that lock is free now
class Departures {
 public:
  /// `holder` is the last part of the lockIds that hand-overs write.
  explicit Departures(std::string holder) : holder_(std::move(holder)) {}

  /// A document of this lock was shown, with or without a queue.
  void see(const std::string& name, const LockDocument& document, LocalInstant now);
  /// Whether a release passes this lock on, because calls queued for it lately. Otherwise it tries
  /// to delete the document first.
  [[nodiscard]] bool passes_on(const std::string& name, LocalInstant now) const;

  /// The handle of this session has ended, and no call of this process gets the lock.
  void release(const HeldLock& lock, SessionId session, SendingStep step);
  /// A number for the hand-over that follows: its receiver has to know it before it is sent.
  DepartureId new_id() { return ++last_; }
  /// The handle of this session has ended, and the call of session `to` receives the lock.
  void hand_over(DepartureId id, const HeldLock& lock, SessionId session, SessionId to,
                 const AcquireCall& receiver, SendingStep step);

  /// `max_holding` of this lock is over: others may have it before its handle is released.
  void give_back(const HeldLock& lock, SendingStep step);
  /// This call has ended: what it may have won goes, and its entry in the lock's queue.
  void ended(const AcquireCall& call, SendingStep step);
  /// What this call won was over before it could be used. The call goes on, by another owner.
  void won_too_late(const AcquireCall& call, SendingStep step);

  /// The attempt that an ended call had under way was answered, or never will be.
  void answered_attempt(DepartureId id, const Reply& reply, SendingStep step);
  /// What became of a hand-over. `given`, `nothing` and `unclear` end it, and report to the giver.
  enum class HandedOver {
    given,           ///< the receiver has the lock
    nothing,         ///< there was nothing to give
    unclear,         ///< there is nothing to give any more; the receiver may have it
    cannot_succeed,  ///< nor would another try; it is for the receiver to end
    waits,           ///< it goes on
  };
  /// None: its receiver has ended, and no call has the lock by it.
  [[nodiscard]] std::optional<HandedOver> answered_hand_over(const PendingCommand& command,
                                                             const Reply& reply, SendingStep step);
  /// A delete or a pass-on was answered. Returns the lock if it has certainly left this process.
  [[nodiscard]] std::optional<std::string> answered_delete(const PendingCommand& command,
                                                           const Reply& reply, SendingStep step);
  /// The stream reports that another process passed the lock to this owner, of no call that waits.
  void granted(const NamedOwner& named, Owner owner, SendingStep step);

  /// A departure timer fired, or (`waited_in_line`) a slot is free for it.
  void due(DepartureId id, bool waited_in_line, SendingStep step);
  /// A report timer fired.
  void report_unknown(DepartureId id, Step step);

  /// Those that no majority has acknowledged yet.
  [[nodiscard]] std::size_t left() const;

 private:
  // departures.cpp: by which command an owner leaves.
  /// Who shares what an owner leaves: those that share with it, or those that were seen lately.
  [[nodiscard]] Room leaves_to(Room own, const std::string& name, LocalInstant now) const;
  [[nodiscard]] Departure leaving(const std::string& name, Owner owner, const LockOptions& options,
                                  Room room, LocalInstant now) const;
  [[nodiscard]] Departure departure_of(const HeldLock& lock, LocalInstant now) const;
  [[nodiscard]] Departure departure_of(const AcquireCall& call, LocalInstant now) const;
  [[nodiscard]] Departure release_of(const HeldLock& lock, SessionId session, Step step);
  void remember(const std::string& name, Owner owner, const LockOptions& options);

  // departure_commands.cpp: what is sent, and what an answer to it says.
  DepartureId add(DepartureId id, Departure departure, Step step);
  void start(Departure departure, SendingStep step);
  void send(DepartureId id, SendingStep step);
  void send_now(DepartureId id, SendingStep step);
  void stop_hand_over(DepartureId id, SendingStep step);
  bool granted_since(Owner owner, LocalInstant give_up_at, SendingStep step);
  HandedOver hand_over_answered(const PendingCommand& command, const Reply& reply,
                                SendingStep step);
  void hand_over_ended(DepartureId id, ReleaseResult result, Step step);
  bool delete_answered(const PendingCommand& command, const Reply& reply, SendingStep step);
  void acknowledged(DepartureId id, Step step);
  void pause(DepartureId id, Duration pause, Step step);
  void retry(DepartureId id, Step step);
  void report(DepartureId id, ReleaseResult result, Step step);
  void end(DepartureId id, ReleaseResult result, Step step);

  /// An owner that may be granted the lock yet, by an entry or a command that was not answered.
  struct Departed {
    std::string name;
    std::chrono::milliseconds timeout;
    Duration expiry;
    FencingToken granted_at = {};  ///< the newest grant that is known of
  };

  std::string holder_;
  std::map<DepartureId, Departure> departures_;
  DepartureId last_ = 0;
  BoundedMap<std::string, LocalInstant, kMaxSights> waited_;  ///< when a call was last seen waiting
  /// When one was last seen that shares the lock, be it waiting or as the holder, and with whom.
  BoundedMap<std::string, std::pair<LocalInstant, Room>, kMaxSights> shared_;
  /// Kept until they have to make room: it is unknown how long requests may be on their way.
  BoundedMap<Owner, Departed, kMaxSights> departed_;
};

}  // namespace leasehold::core
