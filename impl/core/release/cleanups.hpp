#pragma once

#include <cstddef>
#include <map>

#include "core/release/cleanup.hpp"

namespace leasehold::core {

/// Deletes of what may have been left in the database, until it is certainly gone. A release is
/// one, and so is what an ended call may have won. Each is repeated with growing pauses until a
/// majority acknowledges it, or until the document would have expired by itself.
///
/// INVARIANT: a number names one clean-up, or the hand-over that it was before; never two.
class Cleanups {
 public:
  /// A number that no other has, for a clean-up or for a hand-over that may become one.
  CleanupId new_id() { return ++last_; }

  /// Keeps it, and sets the timer by which its result is reported. Nothing is sent yet.
  CleanupId add(Cleanup cleanup, Step step);

  /// Keeps it, and sends its delete.
  void start(Cleanup cleanup, SendingStep step);

  /// This hand-over has no receiver any more: its delete follows at once, or once the command under
  /// way was answered.
  void take_over(CleanupId id, Cleanup cleanup, SendingStep step);

  /// The attempt that an ended call had under way was answered, or never will be.
  void attempt_ended(CleanupId id, bool may_have_won, const Reply& reply, SendingStep step);
  /// The same for a hand-over after the end of its receiver.
  void hand_over_ended(CleanupId id, Outcome outcome, SendingStep step);

  /// The lock was passed to this owner of an ended session. Whether a clean-up of it goes on: that
  /// one sends its command now, or once more, and its answer stays the one that is reported.
  bool granted_since(Owner owner, SendingStep step);

  /// Whether a document is certainly gone by this delete, or passed on.
  [[nodiscard]] bool delete_answered(const PendingCommand& command, const Reply& reply,
                                     SendingStep step);

  /// Its cleanup timer fired, or (`waited_in_line`) a slot is free for it.
  void due(CleanupId id, bool waited_in_line, SendingStep step);
  /// Its report timer fired.
  void report_unknown(CleanupId id, Step step);

  /// REQUIRES: it is not over
  [[nodiscard]] const Cleanup& at(CleanupId id) const { return cleanups_.at(id); }

  /// Those that no majority has acknowledged yet.
  [[nodiscard]] std::size_t left() const;

  void mix_into(HashMixer& hash) const;
  bool operator==(const Cleanups&) const = default;

 private:
  void send_delete(CleanupId id, SendingStep step);
  void send_now(CleanupId id, SendingStep step);
  void retry(CleanupId id, Step step);

  std::map<CleanupId, Cleanup> cleanups_;
  CleanupId last_ = 0;
};

}  // namespace leasehold::core
