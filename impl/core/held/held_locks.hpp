#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/held/held_lock.hpp"
#include "core/pending_commands.hpp"

namespace leasehold::core {

/// The locks that a provider holds, and the rounds that extend them: what is due, and what soon
/// will be, in few commands. A lock is named by the session that won it, also if that has released
/// it and others share it still.
///
/// INVARIANT: a lock that is not lost has its lease_end timer set for its deadline or earlier, and
/// an extension under way or a round armed for its `extend_at` or earlier, unless its deadline
/// cannot move any more or the round is behind.
class HeldLocks {
 public:
  /// What an answer says of a lock: why it is lost.
  struct Loss {
    SessionId session;
    LostReason reason;
  };

  explicit HeldLocks(std::string holder) : holder_(std::move(holder)) {}

  /// It has just been won. Its timers are set.
  void add(SessionId id, HeldLock lock, Step step);
  /// This session shares it from here on, and is notified that it has it.
  void share(SessionId id, SessionId session, Step step);
  /// The lock that this session has, by the one that won it; 0: none, or it has released it.
  [[nodiscard]] SessionId lock_of(SessionId session) const;
  /// The handle of this session has ended: if it was the last that had the lock, that is taken out,
  /// with its timer. None: others have it still, and the release is reported; or it was over.
  [[nodiscard]] std::optional<HeldLock> take(SessionId session, Step step);
  /// Null: it is neither held, nor lost with its release still to come.
  [[nodiscard]] HeldLock* find(SessionId id);

  /// Its holder is notified; nothing is extended any more.
  void lose(SessionId id, LostReason reason, Step step);
  /// Whether its lease_end timer fired for a lease that is over; one that was extended since has
  /// the timer set again.
  [[nodiscard]] bool lease_ends(SessionId id, Step step);

  /// Whether its next extension is due from here on. Not if it wants none, or one is under way.
  [[nodiscard]] bool make_due(SessionId id, LocalInstant now);

  /// Arms a round for the earliest extension wanted of these; their command was answered.
  void arm_round_of(const std::vector<SessionId>& ids, Step step);
  /// Whether the round's timer fired for the round that is armed, which is over with that.
  [[nodiscard]] bool round_begins(LocalInstant now);
  /// Locks that are past their deadline although their timers have not fired: after a pause of the
  /// process a round may come before the timers. A lease that is over is lost, never extended.
  [[nodiscard]] std::vector<SessionId> over(LocalInstant now) const;
  /// Renews what is due, and what will be due within half a cadence: handles that were taken at
  /// different times fall into step, and a round costs few commands.
  /// What finds no free slot is left for another call: then the round is behind.
  void run_round(SendingStep step);
  [[nodiscard]] bool is_behind() const { return !round_.empty(); }

  /// Which locks an answer says are lost, because the document is not theirs any more or because
  /// the answer came after the deadline. What only failed is tried again soon.
  [[nodiscard]] std::vector<Loss> extension_answered(const PendingCommand& extension,
                                                     const Reply& reply, SendingStep step);
  [[nodiscard]] std::vector<Loss> read_holders_answered(const PendingCommand& read,
                                                        const Reply& reply, Step step);

 private:
  void arm_round(Step step);
  void arm_round_at(LocalInstant at, Step step);
  void plan_round(LocalInstant now);
  [[nodiscard]] std::vector<SessionId> next_batch(LocalInstant now);
  void send_extension(const std::vector<SessionId>& ids, SendingStep step);
  void adapt_batches(std::size_t statements, Outcome outcome);
  void read_holders(const std::vector<SessionId>& ids, const PendingCommand& extension,
                    SendingStep step);
  HeldLock* answered(SessionId id);
  /// By this command: the extension, or the read that confirms it.
  void extended(SessionId id, const PendingCommand& extension, std::vector<Loss>& losses,
                Step step);
  void not_there(SessionId id, const Reply& reply, std::vector<Loss>& losses, Step step);
  void retry(SessionId id, Step step);

  std::string holder_;
  std::map<SessionId, HeldLock> locks_;
  std::map<SessionId, SessionId> of_session_;  ///< the lock of each session that has one
  std::optional<LocalInstant> round_at_;   ///< the earliest round a timer is set for
  std::deque<SessionId> round_;            ///< those of it that no command carries yet
  std::size_t largest_batch_ = kMaxBatch;  ///< statements that one extension carries at most
};

}  // namespace leasehold::core
