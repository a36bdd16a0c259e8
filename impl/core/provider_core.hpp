#pragma once

#include <cstddef>
#include <string>

#include "core/acquire/contenders.hpp"
#include "core/document/lock_queue.hpp"
#include "core/held/held_locks.hpp"
#include "core/held/index_creation.hpp"
#include "core/pending_commands.hpp"
#include "core/provider.hpp"
#include "core/release/departures.hpp"

namespace leasehold::core {

/// Every decision of one provider, across all its locks. A value: events in, effects out, no
/// thread, no clock, no I/O.
///
/// A session is one acquire call and the lock that it won. It contends, holds, and departs, each in
/// a part of its own; DESIGN.md, "The life of an acquire call", has the pictures.
///
/// Contenders decides which call is next and what it does about an answer; HeldLocks, what is
/// extended when; Departures, how an owner leaves the database; IndexCreation, the TTL index. They
/// know nothing of each other: only this class passes a session from one to the next. What they
/// share is PendingCommands, the numbers of what was sent.
///
/// Time: `now` never runs backwards between calls.
/// Not thread-safe: its driver serialises the calls.
///
///     core.next(AcquireAsked{7, "report", options, now + 5s}, now, entropy, effects);
///     // effects: Send{acquire}, SetTimer{command_timeout}, SetTimer{give_up}
///     core.next(ReplyArrived{1, reply}, now, entropy, effects);  // -> Granted{7, token, ...}
///
/// INVARIANT: a session is either an acquire call or has a held lock, never both. A call that is
/// Receiving is the receiver of one Departure, and no other call is.
/// Flow control: what finds no free slot (see PendingCommands) waits unsent, and is sent in this
/// order: extensions that are due; departures by turns with attempts. While there are
/// more extensions than slots, no attempt is sent: what is held stays held, and new grants wait.
///
/// INVARIANT: one of the three parts uses an owner at a time: a part that has passed an owner on
/// sends no command for it.
class ProviderCore final : public Provider {
 public:
  /// `holder` goes into lock ids for people to read; empty for none. Replies of at most `slots`
  /// commands may be outstanding.
  explicit ProviderCore(const std::string& holder, int slots = PendingCommands::kUnbounded)
      : pending_(slots),
        contenders_(without_queue_marks(holder)),
        held_(without_queue_marks(holder)),
        departures_(without_queue_marks(holder)) {}

  /// Appends what is to be done because of `event` to `out`.
  void next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out);
  void next(const Event& event, const Clocks& now, Entropy& entropy, Effects& out) override {
    next(event, now.local, entropy, out);  // it never asks for a wall clock
  }

  [[nodiscard]] std::size_t departures_left() const override { return departures_.left(); }

 private:
  void on(const AcquireAsked& event, SendingStep step);
  void on(const CancelAsked& event, SendingStep step);
  void on(const ReleaseAsked& event, SendingStep step);
  void on(const DeadlineSeen& event, SendingStep step);
  void on(const ExtendAsked& event, SendingStep step);
  void on(const ReplyArrived& event, SendingStep step);
  void on(const TimerFired& event, SendingStep step);
  void on(const CloseAsked& event, SendingStep step);

  void send_what_waits(SendingStep step);
  void extend_due(SendingStep step);

  // What an answer brings about beyond the part that asked.
  void answered(CommandId command, const Reply& reply, SendingStep step);
  void answer_attempt(const PendingCommand& attempt, const Reply& reply, SendingStep step);
  void answer_hand_over(const PendingCommand& command, const Reply& reply, SendingStep step);
  void answer_stream(CommandId command, const Reply& reply, SendingStep step);

  // How a session passes from one part to the next. Only here.
  void conclude(SessionId id, const CallResult& result, SendingStep step);
  void win(SessionId id, const Win& win, SendingStep step);
  void share_with_those_behind(SessionId id, SendingStep step);
  void win_too_late(SessionId id, SendingStep step);
  void time_is_over(SessionId id, SendingStep step);
  void give_up(SessionId id, ErrorKind kind, const std::string& why, SendingStep step);
  void end_call(SessionId id, const Error& error, SendingStep step);
  void lose(SessionId id, LostReason reason, SendingStep step);

  PendingCommands pending_;
  Contenders contenders_;
  HeldLocks held_;
  Departures departures_;
  IndexCreation index_;
  bool extended_last_ = false;  ///< the last free slot was for extensions
  bool congested_ = false;      ///< between two events: something waits for a slot
};

}  // namespace leasehold::core
