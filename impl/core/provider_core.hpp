#pragma once

#include <cstddef>
#include <string>

#include "core/attempts.hpp"
#include "core/change_stream.hpp"
#include "core/cleanups.hpp"
#include "core/held_locks.hpp"
#include "core/pending_commands.hpp"
#include "core/provider.hpp"
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
/// attempt is made; HeldLocks, what is extended when, and what an answer says of it; Cleanups, how
/// what was left is deleted; ChangeStream, when it is open and read. They know nothing of each
/// other: what one decision brings about elsewhere is here, and only here.
///
/// Time: `now` never runs backwards between calls. Copyable, comparable and hashable, so that
/// it can be simulated and explored. Not thread-safe: its driver serialises the calls.
///
///     core.next(AcquireAsked{7, "report", options, now + 5s}, now, entropy, effects);
///     // effects: Send{acquire}, SetTimer{command_timeout}, SetTimer{give_up}
///     core.next(ReplyArrived{1, reply}, now, entropy, effects);  // -> Granted{7, token, ...}
///
/// INVARIANT: a session is either an acquire call or a held lock, never both. Whoever is Receiving
/// is the head of its queue and the receiver of one Cleanup, and no other call is.
class ProviderCore final : public Provider {
 public:
  /// `holder` goes into lock ids for people to read; empty for none.
  explicit ProviderCore(const std::string& holder) : attempts_(holder), held_(holder) {}

  /// Appends what is to be done because of `event` to `out`.
  void next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out);
  void next(const Event& event, const Clocks& now, Entropy& entropy, Effects& out) override {
    next(event, now.local, entropy, out);  // it never asks for a wall clock
  }

  [[nodiscard]] std::size_t cleanups_left() const override { return cleanups_.left(); }

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

  // acquire.cpp: what an attempt's answer or the end of a call brings about
  void answer_attempt(const PendingCommand& attempt, const Reply& reply, Step step);
  void refused(SessionId id, const PendingCommand& attempt, const Reply& reply, Step step);
  void failed(SessionId id, const Reply& reply, bool unknown, Step step);
  void win(SessionId id, const PendingCommand& command, const Reply& reply, Step step);
  void win_too_late(SessionId id, Step step);
  void give_up(SessionId id, ErrorKind kind, const std::string& why, Step step);
  void end_call(SessionId id, Error error, Step step);
  void leave_queue(const std::string& name, SessionId id, LocalInstant at_latest, Step step);
  void ensure_index(Step step);
  void answer_index(const Reply& reply, Step step);

  // hand_over.cpp: how a lock passes along inside the process, and to it
  SessionId receiver_after(SessionId id, const HeldLock& lock) const;
  void hand_over(Cleanup cleanup, SessionId to, int in_a_row, Step step);
  void send_hand_over(CleanupId id, Step step);
  void answer_hand_over(const PendingCommand& command, const Reply& reply, Step step);
  void contend_for_itself(CleanupId id, ReleaseResult giver, bool unsure, Step step);
  void stop_receiving(CleanupId id, Step step);
  void freed(const std::string& name, Step step);

  // provider_core.cpp: the rest
  void lose(SessionId id, LostReason reason, Step step);
  void lose_all(const std::vector<HeldLocks::Loss>& losses, Step step);
  void run_out(SessionId id, Step step);
  void run_extension_round(Step step);
  void answer_delete(const PendingCommand& command, const Reply& reply, Step step);
  void answer_stream(CommandId command, const Reply& reply, Step step);
  Audience audience();
  Duration nearest_turn(Step step) const;

  PendingCommands pending_;
  WaitQueues queues_;
  Attempts attempts_;
  HeldLocks held_;
  Cleanups cleanups_;
  ChangeStream stream_;
  enum class Index { wanted, asked, settled } index_ = Index::wanted;
  int index_tries_ = 0;
  bool closed_ = false;
};

}  // namespace leasehold::core
