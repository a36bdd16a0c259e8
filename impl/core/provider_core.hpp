#pragma once

#include <cstddef>
#include <string>

#include "core/attempts.hpp"
#include "core/change_stream.hpp"
#include "core/cleanups.hpp"
#include "core/hand_overs.hpp"
#include "core/held_locks.hpp"
#include "core/index_creation.hpp"
#include "core/lock_queue.hpp"
#include "core/pending_commands.hpp"
#include "core/provider.hpp"
#include "core/queues_seen.hpp"
#include "core/wait_queues.hpp"

namespace leasehold::core {

/// Every decision of one provider, across all its locks. A value: events in, effects out, no
/// thread, no clock, no I/O.
///
/// A session is one acquire call and the lock that it won:
///
///     AcquireAsked                 +--refused, failed--+
///          |                       v                   |
///          +---head of its queue-> Waiting --due--> Attempting --won--> held --deadline, or the
///          |                       ^  |                 |               ^ |     document is not
///          +---others before it-> Queued               |                | |     ours--> lost
///                                  |  +--release of a handle of ours    | |               |
///                                  |  v  (hand-over)    |               | |               |
///                                  Receiving -----------+--given--------+ |               |
///                                  |                    |                 |               |
///                 gives up, is cancelled, cannot succeed                  +--ReleaseAsked-+
///                                  |                                              |
///                                  +--> Ended, and what it may have won --> Cleanup <--
///
/// Who decides what: WaitQueues, whose turn it is inside this process; Attempts, when the next
/// attempt is made; HeldLocks, what is extended when, and what an answer says of it; HandOvers, how
/// a lock passes along inside this process; Cleanups, how what was left is deleted; ChangeStream,
/// when it is open and read; QueuesSeen, for which locks other processes queue; IndexCreation, the
/// TTL index. They know nothing of each other: what
/// one decision brings about elsewhere is here, and only here.
///
/// Time: `now` never runs backwards between calls. Copyable, comparable and hashable, so that
/// it can be simulated and explored. Not thread-safe: its driver serialises the calls.
///
///     core.next(AcquireAsked{7, "report", options, now + 5s}, now, entropy, effects);
///     // effects: Send{acquire}, SetTimer{command_timeout}, SetTimer{give_up}
///     core.next(ReplyArrived{1, reply}, now, entropy, effects);  // -> Granted{7, token, ...}
///
/// INVARIANT: a session is either an acquire call or a held lock, never both. Whoever is Receiving
/// is the head of its queue and the receiver of one HandOver, and no other call is.
class ProviderCore final : public Provider {
 public:
  /// `holder` goes into lock ids for people to read; empty for none.
  explicit ProviderCore(const std::string& holder)
      : attempts_(without_queue_marks(holder)),
        held_(without_queue_marks(holder)),
        hand_overs_(without_queue_marks(holder)) {}

  /// Appends what is to be done because of `event` to `out`.
  void next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out);
  void next(const Event& event, const Clocks& now, Entropy& entropy, Effects& out) override {
    next(event, now.local, entropy, out);  // it never asks for a wall clock
  }

  [[nodiscard]] std::size_t cleanups_left() const override {
    return cleanups_.left() + hand_overs_.left();
  }

  bool operator==(const ProviderCore&) const = default;
  /// Equal cores, equal hashes.
  [[nodiscard]] std::size_t hash() const;

 private:
  void on(const AcquireAsked& event, Step step);
  void on(const CancelAsked& event, Step step);
  void on(const ReleaseAsked& event, Step step);
  void on(const DeadlineSeen& event, Step step);
  void on(const ReplyArrived& event, Step step);
  void on(const TimerFired& event, Step step);
  void on(const CloseAsked& event, Step step);

  // acquire.cpp: how an acquire call gets the lock, and how it ends
  void answer_attempt(const PendingCommand& attempt, const Reply& reply, Step step);
  void answer_hand_over(const PendingCommand& command, const Reply& reply, Step step);
  void refused(SessionId id, const PendingCommand& attempt, const Reply& reply, Step step);
  /// How a call won: by which command, sent when, that left which document at which time.
  struct Win {
    Granted::By by;
    CommandId command;
    LocalInstant sent;
    LockDocument document;
    FencingToken at;
    bool observed = false;  ///< an attempt that knew that the holder was dead
  };
  HeldLock held_lock(const AcquireCall& call, const Win& win) const;
  void win(SessionId id, const Win& win, Step step);
  void learn_from_attempt_that_won(SessionId id, bool observed, Step step);
  void win_too_late(SessionId id, Step step);
  void give_up(SessionId id, ErrorKind kind, const std::string& why, Step step);
  void end_call(SessionId id, Error error, Step step);

  // passed_on.cpp: how a lock comes from other processes, and goes to them
  void read_named(const NamedOwner& named, CommandId command, Step step);
  void notify(SessionId id, const NamedOwner& named, CommandId command, Step step);
  void take_grant(SessionId id, const NamedOwner& named, CommandId command, Step step);
  void act_on_news(SessionId id, const std::optional<NamedOwner>& news, const Reply& attempt,
                   Step step);
  void return_grant(const NamedOwner& named, Owner owner, Step step);
  void remember_departed(const std::string& name, Owner owner, const LockOptions& options,
                         Step step);
  [[nodiscard]] Cleanup::By way_out(const std::string& name, const LockOptions& options,
                                    Step step) const;
  [[nodiscard]] ChangeStream::Reports reports_for(const AcquireCall& call) const;
  [[nodiscard]] bool hears(SessionId id) const;

  // provider_core.cpp: the rest
  Cleanup cleanup_of(const HeldLock& lock, Step step) const;
  Cleanup cleanup_of(const AcquireCall& call, Step step) const;
  void hand_over(Cleanup giver, SessionId receiver, int in_a_row, Step step);
  void leave_queue(const std::string& name, SessionId id, LocalInstant at_latest, Step step);
  void lose(SessionId id, LostReason reason, Step step);
  void answer_delete(const PendingCommand& command, const Reply& reply, Step step);
  void answer_stream(CommandId command, const Reply& reply, Step step);

  PendingCommands pending_;
  WaitQueues queues_;
  Attempts attempts_;
  HeldLocks held_;
  HandOvers hand_overs_;
  Cleanups cleanups_;
  ChangeStream stream_;
  QueuesSeen queues_seen_;
  IndexCreation index_;
  bool closed_ = false;  ///< no acquire call is left, and none begins
};

}  // namespace leasehold::core
