#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// A lock that this provider holds, or held when its handle was last asked.
struct HeldLock {
  std::string name;
  LockOptions options;
  Owner owner;
  FencingToken token;         ///< of the write that won
  ServerInstant acquired_at;  ///< with the owner, it names this grant to the server
  LocalInstant deadline;      ///< held() is false after it
  LocalInstant ends_at = LocalInstant::max();  ///< no extension moves the deadline beyond this
  LocalInstant extend_at;                      ///< when its next extension is due
  CommandId command = 0;                       ///< the extension or its look under way, or 0
  bool lost = false;           ///< its holder was notified; only a release is left to come
  bool late_commands = false;  ///< an attempt of this owner was never answered: it may arrive yet
  int hand_overs = 0;          ///< in a row up to this holding

  /// Whether a release may hand it over instead of deleting it. After an attempt that was never
  /// answered the owner has to be deleted, and once more. And a hand-over leaves other processes no
  /// gap to win in; so their turn comes after `hand_overs_in_a_row`.
  [[nodiscard]] bool may_be_handed_over() const {
    return !lost && !late_commands && hand_overs < options.hand_overs_in_a_row;
  }
  /// Whether this process has had it as often in a row as it may: it becomes others' turn.
  [[nodiscard]] bool had_its_turns() const {
    return hand_overs > 0 && hand_overs >= options.hand_overs_in_a_row;
  }
  bool operator==(const HeldLock&) const = default;
};

/// The locks that a provider holds, and the rounds that extend them: what is due, and what soon
/// will be, in few commands.
///
/// INVARIANT: a lock that is not lost has its lease_end timer set for its deadline or earlier, and
/// an extension under way or a round armed for its `extend_at` or earlier, unless its deadline
/// cannot move any more.
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
  void erase(SessionId id) { locks_.erase(id); }
  /// Null: it is not held, and was not lost unreleased.
  [[nodiscard]] HeldLock* find(SessionId id);

  /// Its holder is notified; nothing is extended any more.
  void lose(SessionId id, LostReason reason, Step step);
  /// Whether its lease_end timer fired for a lease that is over; one that was extended since has
  /// the timer set again.
  [[nodiscard]] bool lease_ends(SessionId id, Step step);

  /// Arms a round for the earliest extension that is wanted.
  void arm_round(Step step);
  /// Whether the round's timer fired for the round that is armed, which is over with that.
  [[nodiscard]] bool round_begins(LocalInstant now);
  /// Those whose leases are over although their timers have not fired: after a pause of the process
  /// a round may come before them. What is over is lost, never extended.
  [[nodiscard]] std::vector<SessionId> over(LocalInstant now) const;
  /// Renews what is due, and what will be due within half a cadence: handles that were taken at
  /// different times fall into step, and a round costs few commands.
  void run_round(PendingCommands& pending, Step step);

  /// Which locks an answer says are lost, because the document is not theirs any more or because
  /// the answer came after the deadline. What only failed is tried again soon.
  [[nodiscard]] std::vector<Loss> extension_answered(const PendingCommand& extension,
                                                     const Reply& reply, PendingCommands& pending,
                                                     Step step);
  [[nodiscard]] std::vector<Loss> read_holders_answered(const PendingCommand& read,
                                                        const Reply& reply, Step step);

  void mix_into(HashMixer& hash) const;
  bool operator==(const HeldLocks&) const = default;

 private:
  void arm_round_at(LocalInstant at, Step step);
  void send_extension(const std::vector<SessionId>& ids, PendingCommands& pending, Step step);
  void read_holders(const std::vector<SessionId>& ids, const PendingCommand& extension,
                    PendingCommands& pending, Step step);
  HeldLock* answered(SessionId id);
  /// By this command: the extension, or the read that confirms it.
  void extended(SessionId id, const PendingCommand& extension, std::vector<Loss>& losses,
                Step step);
  [[nodiscard]] std::string lock_id(const HeldLock& lock, std::uint64_t beat) const;
  void not_there(SessionId id, const Reply& reply, std::vector<Loss>& losses, Step step);
  void retry(SessionId id, Step step);

  std::string holder_;
  std::map<SessionId, HeldLock> locks_;
  std::optional<LocalInstant> round_at_;  ///< the earliest round a timer is set for
};

}  // namespace leasehold::core
