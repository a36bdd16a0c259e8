#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// An owner that leaves the database: by a hand-over while there is a receiver, else by a delete or
/// a pass-on, which is repeated until a majority confirms it or `give_up_at` has come.
///
///     hand-over --given, or there was nothing to give--> over
///         | the receiver ends
///         v
///     attempt under way --answered--> delete under way --a majority has it--> gone, or once more
///                                       ^         |                           after a pause
///                                       +--pause<-+ no answer, or one of an old primary
///
/// A delete ends at `give_up_at` whatever was answered: by then the document has expired like a
/// crashed holder's, and a server that was away for hours is not met by the deletes of those hours.
struct Departure {
  std::string name;
  Owner owner;
  std::optional<Owner> or_owner;  ///< or this one's: of the receiver, or of one that has ended
  /// The next command without a receiver. A delete becomes a pass-on if it finds nothing to delete:
  /// the document has gone, or a call waits for the lock that this process does not know of.
  enum class By { deletion_unless_queued, pass_on };
  By by = By::deletion_unless_queued;
  bool offers = false;  ///< pass-on: any process may take it
  Room room = 0;         ///< pass-on: which of those that wait share what it leaves

  /// A call of this process that gets the lock from the handle that has ended. It is Receiving by
  /// this very departure, and its owner is `or_owner`.
  struct Receiver {
    SessionId session = 0;
    std::chrono::milliseconds expiry;
    std::chrono::milliseconds clock_margin;
    Room room = 0;
    bool sent = false;    ///< before, the document cannot be the receiver's
  };
  std::optional<Receiver> receiver;

  /// When the document, or an entry in its queue, was this owner's; none: no reply ever showed so.
  /// It is the token of a lock that was held.
  FencingToken known_at;
  std::chrono::milliseconds timeout;
  LocalInstant give_up_at;  ///< the document frees itself like a crashed holder's
  // INVARIANT: a command is under way, or the departure timer is set for `next_at`, or it is in
  // the line for a slot, due since `next_at`.
  LocalInstant next_at;            ///< when the next command is due, with none under way
  CommandId command = 0;           ///< the one under way, or 0
  bool awaits_attempt = false;     ///< `command` is an attempt; no delete was sent yet
  bool outcome_uncertain = false;  ///< an earlier attempt, hand-over or delete was never answered
  bool resend = false;             ///< one more delete, after a pause, against late requests
  int failures = 0;                ///< of deletes, in a row
  bool acknowledged = false;       ///< by a majority: only a resend is left
  std::optional<SessionId> reporting;  ///< the session that waits for the result

  /// For what this owner may have in the database.
  static Departure of(const std::string& name, Owner owner, const LockOptions& options,
                      LocalInstant now);
  /// What its next command is. Made anew for each try.
  /// REQUIRES: there is no receiver
  [[nodiscard]] decltype(Command::body) delete_command() const;
  /// The same with a receiver. `lock_id`: of the receiver, with a beat of this execution's own.
  [[nodiscard]] decltype(Command::body) hand_over_command(std::string lock_id) const;
  /// The receiver's, with its lease, because observers presume the receiver dead by that.
  [[nodiscard]] std::string receivers_lock_id(std::uint64_t beat, const std::string& holder) const;
  /// Whether the reply to a delete or pass-on says that the lock was this owner's, and no longer
  /// is.
  [[nodiscard]] bool has_left(const Reply& reply) const;
  /// Before the next command: at first often within one timeout, then, with `failures`, ever more
  /// seldom, so that an overloaded server recovers. The last one is at the end.
  [[nodiscard]] Duration pause_after_failure(LocalInstant now) const;
};

/// By then another process has seen the document unchanged for a whole lease, and takes it from its
/// dead owner: nothing depends on a delete any more.
[[nodiscard]] inline LocalInstant two_leases_from(LocalInstant now, Duration expiry) {
  return now + 2 * expiry;
}

}  // namespace leasehold::core
