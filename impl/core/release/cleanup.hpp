#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// A delete or pass-on by owner, repeated until a majority confirms it or `give_up_at` has come.
///
///     attempt under way --answered--> delete under way --a majority has it--> gone, or once more
///                                       ^         |                           after a pause
///                                       +--pause<-+ no answer, or one of an old primary
///
/// It ends at `give_up_at` whatever was answered: by then the document has expired like a crashed
/// holder's, and a server that was away for hours is not met by the deletes of those hours.
struct Cleanup {
  std::string name;
  Owner owner;
  std::optional<Owner> or_owner;  ///< or this one's: of a hand-over that was given up
  /// What the next command is. `unless_queued` becomes a pass-on if it finds nothing to delete: the
  /// document has gone, or a call waits for the lock.
  enum class By { deletion, deletion_unless_queued, pass_on };
  By by = By::deletion;
  bool offers = false;  ///< pass-on: any process may take it
  /// When the document, or an entry in its queue, was this owner's; none: no reply ever showed so.
  /// It is the token of a lock that was held.
  FencingToken known_at;
  std::chrono::milliseconds timeout;
  LocalInstant give_up_at;  ///< the document frees itself like a crashed holder's
  // INVARIANT: a command is under way, or the cleanup timer is set for `next_at`, or it stands in
  // the line for a slot, due since `next_at`.
  LocalInstant next_at;            ///< when the next command is due, with none under way
  CommandId command = 0;           ///< the one under way, or 0
  bool awaits_attempt = false;     ///< `command` is an attempt; no delete was sent yet
  bool outcome_uncertain = false;  ///< an earlier attempt, hand-over or delete was never answered
  bool resend = false;             ///< one more delete, after a pause, against late requests
  int failures = 0;                ///< of deletes, in a row
  bool acknowledged = false;       ///< by a majority: only a resend is left
  std::optional<SessionId> reporting;  ///< the session that waits for the result
  bool operator==(const Cleanup&) const = default;
};

/// By then another process has seen the document unchanged for a whole lease, and takes it from its
/// dead owner: nothing depends on a clean-up any more.
[[nodiscard]] inline LocalInstant two_leases_from(LocalInstant now, Duration expiry) {
  return now + 2 * expiry;
}

/// For what this owner may have in the database.
[[nodiscard]] Cleanup cleanup_of(const std::string& name, Owner owner, const LockOptions& options,
                                 LocalInstant now);

/// Before the next command: at first often within one timeout, then, with `failures`, ever more
/// seldom, so that an overloaded server recovers. The last one is at the end.
[[nodiscard]] Duration pause_after_failure(const Cleanup& cleanup, LocalInstant now);

void pause(CleanupId id, Cleanup& cleanup, Duration pause, Step step);

/// Sets the timer by which its result is reported, known or not.
void report_in_time(CleanupId id, const Cleanup& cleanup, Step step);

/// Notifies the session that waits for the result, once.
void report(CleanupId id, Cleanup& cleanup, ReleaseResult result, Step step);

}  // namespace leasehold::core
