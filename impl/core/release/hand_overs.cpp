#include "core/release/hand_overs.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace leasehold::core {

/// The report timer comes first: even a hand-over that is never answered must not keep the releaser
/// waiting.
void HandOvers::start(CleanupId id, HandOver hand_over, SendingStep step) {
  LEASEHOLD_CHECK(hand_over.receiver != 0 && hand_over.giver.or_owner);
  report_in_time(id, hand_over.giver, step);
  const bool is_new = hand_overs_.emplace(id, std::move(hand_over)).second;
  LEASEHOLD_CHECK(is_new);
  send(id, step);
}

/// The command names both owners: sent again, it finds what it may have written before.
void HandOvers::send(CleanupId id, SendingStep step) {
  HandOver& hand_over = hand_overs_.at(id);
  Cleanup& giver = hand_over.giver;
  LEASEHOLD_CHECK(giver.command == 0);
  if (!step.pending.may_send()) {
    giver.next_at = step.now;
    return step.pending.stand_in_line({Timer::Kind::cleanup, id}, step.now);
  }
  // Each execution has a beat of its own: the document then says which of them it is of.
  const std::uint64_t beat = step.pending.next_beat();
  HandOverCommand command{
      hand_over.receiver,       giver.name,       giver.owner,           *giver.or_owner,
      lock_id(hand_over, beat), hand_over.expiry, hand_over.clock_margin};
  giver.command = step.pending.send({.kind = PendingCommand::Kind::hand_over,
                                     .sessions = {hand_over.receiver},
                                     .cleanup = id,
                                     .beat = beat},
                                    giver.timeout, std::move(command), step);
  hand_over.sent = true;
}

/// INVARIANT: `given` only with the time of the write that gave. The receiver's token is that time,
/// and a token of another write could be below one that was granted since.
HandOvers::Answer HandOvers::answered(const PendingCommand& command, const Reply& reply,
                                      SendingStep step) {
  const CleanupId id = command.cleanup;
  HandOver& hand_over = hand_overs_.at(id);
  Cleanup& giver = hand_over.giver;
  LEASEHOLD_CHECK(giver.command == command.id);
  LEASEHOLD_CHECK(command.sessions.front() == hand_over.receiver);
  giver.command = 0;
  // After a missing reply, "nothing there" may be the effect of that very command.
  const bool first_unknown = reply.outcome == Outcome::unknown && !giver.outcome_uncertain;
  giver.outcome_uncertain |= reply.outcome == Outcome::unknown;
  // An old primary, cut off before the giver won, finds nothing of what was written since.
  const bool nothing =
      reply.outcome == Outcome::done && reply.documents.empty() && !reply.is_before(giver.known_at);
  if (nothing) {
    const bool unclear = giver.outcome_uncertain;
    end(id, unclear ? ReleaseResult::unknown : ReleaseResult::not_owner, step);
    return unclear ? Answer::unclear : Answer::nothing;
  }
  // As for an attempt: only the document with this very beat shows that this execution gave it.
  const bool given = reply.outcome == Outcome::done && !reply.documents.empty() && !reply.retried &&
                     reply.documents.front().lock_id == lock_id(hand_over, command.beat);
  if (given) {
    end(id, ReleaseResult::released, step);
    return Answer::given;
  }
  if (reply.outcome == Outcome::configuration || reply.permanent) return Answer::cannot_succeed;
  // By now the document has expired, if it is there: any attempt may have it.
  if (step.now >= giver.give_up_at) {
    end(id, ReleaseResult::unknown, step);
    return Answer::unclear;
  }
  // The first time at once, as after an attempt without an answer: most often it was executed.
  if (first_unknown) {
    send(id, step);
  } else {
    pause(id, giver, pause_after_failure(giver, step.now), step);
  }
  return Answer::waits;
}

/// Its number may have become a clean-up's: then the timer is for that.
void HandOvers::due(CleanupId id, SendingStep step) {
  const auto found = hand_overs_.find(id);
  if (found == hand_overs_.end()) return;
  const Cleanup& giver = found->second.giver;
  if (giver.command == 0 && step.now >= giver.next_at) send(id, step);
}

/// The giver has its answer in time; the hand-over goes on for the receiver's sake.
void HandOvers::report_unknown(CleanupId id, Step step) {
  const auto found = hand_overs_.find(id);
  if (found != hand_overs_.end()) report(id, found->second.giver, ReleaseResult::unknown, step);
}

/// The giver hears first, unless its time was over and it has heard already.
void HandOvers::end(CleanupId id, ReleaseResult giver, Step step) {
  report(id, hand_overs_.at(id).giver, giver, step);
  hand_overs_.erase(id);
}

/// A command under way goes on, because it would be unknown what a cut one did. If none was sent,
/// the receiver has nothing to delete; otherwise the receiver's lease may begin as late as now.
Cleanup HandOvers::stop(CleanupId id, SendingStep step) {
  auto stopped = hand_overs_.extract(id);
  LEASEHOLD_CHECK(!stopped.empty());
  HandOver& hand_over = stopped.mapped();
  Cleanup giver = std::move(hand_over.giver);
  if (hand_over.sent) {
    giver.give_up_at = std::max(giver.give_up_at, two_leases_from(step.now, hand_over.expiry));
  } else {
    giver.or_owner.reset();
  }
  if (giver.command != 0) step.pending.at(giver.command).sessions.clear();
  return giver;
}

/// It has the receiver's lease, because observers presume the receiver dead by that.
std::string HandOvers::lock_id(const HandOver& hand_over, std::uint64_t beat) const {
  return format_lock_id({*hand_over.giver.or_owner, hand_over.expiry.count(), beat, holder_});
}

}  // namespace leasehold::core
