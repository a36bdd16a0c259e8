#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/release/cleanup.hpp"

namespace leasehold::core {

/// A lock on its way from a handle that has ended to a call of the same process that waits for it.
struct HandOver {
  Cleanup giver;  ///< what becomes of it without a receiver: the delete of both owners
  SessionId receiver = 0;
  // Of the receiver.
  std::chrono::milliseconds expiry;
  std::chrono::milliseconds clock_margin;
  bool sent = false;  ///< before, the document cannot be the receiver's
  bool operator==(const HandOver&) const = default;
};

/// How locks pass along inside the process: one command each instead of a delete and an attempt.
/// Without an answer it is sent again, at an even pace, because the receiver waits for it.
/// WaitQueues says which session gives to which; ProviderCore, what the receiver does with it.
///
/// INVARIANT: each has a command under way, its cleanup timer set, or stands in the line for a
/// slot; and it has a receiver that is Receiving by this very number. The giver's handle was over
/// before the first command was sent, so held() is never true for both.
class HandOvers {
 public:
  explicit HandOvers(std::string holder) : holder_(std::move(holder)) {}

  /// Keeps it, sends it, and sets the timer by which the giver's result is reported.
  void start(CleanupId id, HandOver hand_over, SendingStep step);

  /// What became of it. `given`, `nothing` and `unclear` end it, and report to the giver.
  enum class Answer {
    given,           ///< the receiver has the lock
    nothing,         ///< there was nothing to give
    unclear,         ///< there is nothing to give any more; the receiver may have it
    cannot_succeed,  ///< nor would another try; it is for the receiver to end
    waits,           ///< it goes on
  };
  [[nodiscard]] Answer answered(const PendingCommand& command, const Reply& reply,
                                SendingStep step);

  /// Its cleanup timer fired, or a slot is free for it.
  void due(CleanupId id, SendingStep step);
  /// Its report timer fired.
  void report_unknown(CleanupId id, Step step);

  /// The receiver ends: the delete that the hand-over becomes. The reply to its command, if one is
  /// under way, is for that delete alone from here on.
  [[nodiscard]] Cleanup stop(CleanupId id, SendingStep step);

  [[nodiscard]] std::size_t left() const { return hand_overs_.size(); }

  bool operator==(const HandOvers&) const = default;

 private:
  void send(CleanupId id, SendingStep step);
  void end(CleanupId id, ReleaseResult giver, Step step);
  [[nodiscard]] std::string lock_id(const HandOver& hand_over, std::uint64_t beat) const;

  std::string holder_;
  std::map<CleanupId, HandOver> hand_overs_;
};

}  // namespace leasehold::core
