#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// An owner whose document, if there is one, has to go: deleted, or handed over to the receiver.
struct Cleanup {
  std::string name;
  Owner owner;
  std::optional<Owner> or_owner;  ///< the receiver's, also after it gave up
  SessionId receiver = 0;         ///< 0: nobody, a plain delete
  FencingToken won;               ///< by this write; none: no caller ever heard of a win
  std::chrono::milliseconds timeout;
  LocalInstant give_up_at;         ///< the document frees itself like a crashed holder's
  LocalInstant next_at;            ///< when the next delete is due, with none under way
  CommandId command = 0;           ///< the delete or hand-over under way, or 0
  bool awaits_attempt = false;     ///< `command` is an attempt; no delete was sent yet
  bool outcome_uncertain = false;  ///< an earlier attempt, hand-over or delete was never answered
  bool resend = false;             ///< one more delete, after a pause, against late requests
  int failures = 0;                ///< of deletes, in a row
  bool acknowledged = false;       ///< by a majority: only a resend is left
  std::optional<SessionId> reporting;  ///< who waits for the result
  bool operator==(const Cleanup&) const = default;
};

/// For what this owner may have in the database; the document frees itself two leases from now.
[[nodiscard]] Cleanup cleanup_of(const std::string& name, Owner owner, const LockOptions& options,
                                 LocalInstant now);

/// What may have been left in the database, until it is certainly gone. A release is one, and so is
/// what an ended call may have won. Each is repeated with growing pauses until a majority
/// acknowledges it, or until the document would have expired by itself.
///
/// INVARIANT: each has a command under way or its cleanup timer set.
class Cleanups {
 public:
  /// Keeps it, and sets the timer by which its result is reported. Nothing is sent yet.
  CleanupId add(Cleanup cleanup, Step step);

  /// Keeps it, and sends its delete.
  void start(Cleanup cleanup, PendingCommands& pending, Step step);

  void send_delete(CleanupId id, PendingCommands& pending, Step step);

  /// The attempt that an ended call had under way was answered, or never will be.
  void attempt_ended(CleanupId id, bool may_have_won, Outcome outcome, PendingCommands& pending,
                     Step step);

  /// Whether a document is certainly gone by this delete.
  [[nodiscard]] bool delete_answered(CleanupId id, const Reply& reply, Step step);

  /// Tells who waits for the result, once.
  void report(CleanupId id, ReleaseResult result, Step step);

  /// Tries again after a pause: at first often within one timeout, then ever more seldom, so that
  /// an overloaded server recovers. The last try is at the end.
  void retry_later(CleanupId id, Step step);

  void erase(CleanupId id) { cleanups_.erase(id); }
  /// Null: it is over.
  [[nodiscard]] Cleanup* find(CleanupId id);
  /// REQUIRES: it is not over
  [[nodiscard]] Cleanup& at(CleanupId id) { return cleanups_.at(id); }

  /// Those that no majority has acknowledged yet.
  [[nodiscard]] std::size_t left() const;

  void mix_into(HashMixer& hash) const;
  bool operator==(const Cleanups&) const = default;

 private:
  void pause(CleanupId id, Cleanup& cleanup, Duration pause, Step step);

  std::map<CleanupId, Cleanup> cleanups_;
  CleanupId last_ = 0;
};

}  // namespace leasehold::core
