#include "core/release/cleanups.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace leasehold::core {
namespace {

/// From the shortest first pause, 10 ms, to the longest: beyond it `1 << failures` would overflow
/// some day and change nothing.
constexpr int kMostCleanupDoublings = 9;

/// Made anew for each try: a delete on condition that found nothing is followed by a pass-on.
decltype(Command::body) command_of(const Cleanup& cleanup) {
  if (cleanup.by == Cleanup::By::pass_on) {
    return PassOnCommand{cleanup.name, cleanup.owner, cleanup.or_owner, cleanup.offers};
  }
  const bool unless_queued = cleanup.by == Cleanup::By::deletion_unless_queued;
  return DeleteCommand{cleanup.name, cleanup.owner, cleanup.or_owner, unless_queued};
}

/// Whether the reply says that the lock was this owner's, and no longer is.
bool has_left(const Cleanup& cleanup, const Reply& reply) {
  if (cleanup.by != Cleanup::By::pass_on) return reply.matched > 0;
  const auto held =
      reply.documents.empty() ? std::nullopt : parse_lock_id(reply.documents.front().lock_id);
  return held && (held->owner == cleanup.owner || held->owner == cleanup.or_owner);
}

}  // namespace

/// The caller has a command under way for it, or sends one.
CleanupId Cleanups::add(Cleanup cleanup, Step step) {
  const CleanupId id = new_id();
  report_in_time(id, cleanup, step);
  cleanups_.emplace(id, std::move(cleanup));
  return id;
}

/// The report timer comes first: even a delete that is never answered must not keep the releaser
/// waiting.
void Cleanups::start(Cleanup cleanup, SendingStep step) {
  send_delete(add(std::move(cleanup), step), step);
}

/// The clean-up keeps the number of the hand-over, and the report timer, which is set already.
void Cleanups::take_over(CleanupId id, Cleanup taken, SendingStep step) {
  const auto [entry, is_new] = cleanups_.emplace(id, std::move(taken));
  LEASEHOLD_CHECK(is_new && id <= last_);
  const Cleanup& cleanup = entry->second;
  if (cleanup.command != 0) return;  // its answer has the delete follow
  send_now(id, step);
}

/// The delete names the owner, so that another's document is not touched, whatever became of the
/// lock since. That makes it safe to send again.
void Cleanups::send_delete(CleanupId id, SendingStep step) {
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.command == 0);
  if (!step.pending.may_send()) {
    cleanup.next_at = step.now;
    return step.pending.stand_in_line({Timer::Kind::cleanup, id}, step.now);
  }
  cleanup.command = step.pending.send({.kind = PendingCommand::Kind::cleanup, .cleanup = id},
                                      cleanup.timeout, command_of(cleanup), step);
}

/// Sends the command now, whether it waits for its timer or for a slot.
void Cleanups::send_now(CleanupId id, SendingStep step) {
  const Timer timer{Timer::Kind::cleanup, id};
  clear_timer(timer.kind, id, step);
  step.pending.leave_line(timer, cleanups_.at(id).next_at);
  send_delete(id, step);
}

/// Nothing is deleted before: a delete that overtakes the attempt would find nothing, and the
/// attempt would then win a lock for a call that has ended.
void Cleanups::attempt_ended(CleanupId id, bool may_have_won, const Reply& reply,
                             SendingStep step) {
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.awaits_attempt);
  // Certainly refused or not executed, as were all before: there is nothing to delete. A refused
  // one of a call that queues has left an entry.
  const bool queued = cleanup.by == Cleanup::By::pass_on;
  if (!may_have_won && !cleanup.outcome_uncertain && !queued) {
    cleanups_.erase(id);
    return;
  }
  cleanup.awaits_attempt = false;
  // A request that was never answered may arrive after the delete and win then.
  cleanup.resend = cleanup.outcome_uncertain || reply.outcome != Outcome::done;
  if (queued) cleanup.known_at = std::max(cleanup.known_at, reply.operation_time);
  cleanup.outcome_uncertain = false;
  cleanup.command = 0;
  send_delete(id, step);
}

/// Both owners have to go, whatever the hand-over did.
void Cleanups::hand_over_ended(CleanupId id, Outcome outcome, SendingStep step) {
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.or_owner);
  cleanup.outcome_uncertain |= outcome == Outcome::unknown;
  cleanup.command = 0;
  send_delete(id, step);
}

/// A command in flight may predate this grant: then one more is sent afterwards.
bool Cleanups::granted_since(Owner owner, SendingStep step) {
  const auto found = std::find_if(cleanups_.begin(), cleanups_.end(), [owner](const auto& c) {
    return c.second.owner == owner || c.second.or_owner == owner;
  });
  if (found == cleanups_.end()) return false;
  auto& [id, cleanup] = *found;
  if (cleanup.command != 0) {
    cleanup.resend = true;
  } else {
    // If this brings a resend forward, another one follows after a pause.
    cleanup.resend |= cleanup.acknowledged;
    send_now(id, step);
  }
  return true;
}

/// A delete without an acknowledgement is repeated even if it was executed: a primary that steps
/// down may lose it, and with it the release.
bool Cleanups::delete_answered(const PendingCommand& command, const Reply& reply,
                               SendingStep step) {
  const CleanupId id = command.cleanup;
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.command == command.id && !cleanup.awaits_attempt);
  cleanup.command = 0;
  // No right to delete, say: to try again cannot succeed. The document expires by itself.
  if (reply.outcome == Outcome::configuration) {
    report(id, cleanup, ReleaseResult::unknown, step);
    step.out.push_back(Warned{"lock '" + cleanup.name + "' cannot be deleted: " + reply.message});
    cleanups_.erase(id);
    return false;
  }
  const bool left = has_left(cleanup, reply);
  // An old primary, cut off before, does not know the document or the entry: that is no answer.
  if (reply.outcome != Outcome::done || (!left && reply.is_before(cleanup.known_at))) {
    cleanup.outcome_uncertain |= reply.outcome == Outcome::unknown;
    retry(id, step);
    return false;
  }
  if (!left && cleanup.by == Cleanup::By::deletion_unless_queued) {
    cleanup.by = Cleanup::By::pass_on;
    send_delete(id, step);
    return false;
  }
  // Nothing matched after a delete without an answer: that one may have been it.
  const auto nothing =
      cleanup.outcome_uncertain ? ReleaseResult::unknown : ReleaseResult::not_owner;
  report(id, cleanup, left ? ReleaseResult::released : nothing, step);
  // From here on it is not waited for at the end of a provider: what is left is a precaution.
  cleanup.acknowledged = true;
  if (cleanup.resend) {
    cleanup.resend = false;
    pause(id, cleanup, cleanup.timeout, step);
  } else {
    cleanups_.erase(id);
  }
  return left;
}

/// Repeats the delete for two leases and no longer: by then the document frees itself, and a server
/// that was away for hours is not met by all the deletes of those hours.
void Cleanups::retry(CleanupId id, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  if (step.now >= cleanup.give_up_at) {
    report(id, cleanup, ReleaseResult::unknown, step);
    cleanups_.erase(id);
    return;
  }
  const auto span = pause_after_failure(cleanup, step.now);
  cleanup.failures = std::min(cleanup.failures + 1, kMostCleanupDoublings);
  pause(id, cleanup, span, step);
}

/// A number that it does not know is that of a hand-over, or of one that is over: a timer may fire
/// late. With a command under way its answer says what follows. What has waited in line until its
/// document is free is not sent: servers that were away would be met by the deletes of that time.
void Cleanups::due(CleanupId id, bool waited_in_line, SendingStep step) {
  const auto found = cleanups_.find(id);
  if (found == cleanups_.end()) return;
  Cleanup& cleanup = found->second;
  if (cleanup.command != 0 || step.now < cleanup.next_at) return;
  if (!waited_in_line || step.now < cleanup.give_up_at) return send_delete(id, step);
  report(id, cleanup, ReleaseResult::unknown, step);
  cleanups_.erase(found);
}

/// The clean-up goes on without its caller: only the answer is given up, not the delete.
void Cleanups::report_unknown(CleanupId id, Step step) {
  const auto found = cleanups_.find(id);
  if (found != cleanups_.end()) report(id, found->second, ReleaseResult::unknown, step);
}

/// A resend against late requests is not waited for: the provider would hang for one timeout more
/// with nothing to show for it.
std::size_t Cleanups::left() const {
  return static_cast<std::size_t>(std::count_if(
      cleanups_.begin(), cleanups_.end(), [](const auto& c) { return !c.second.acknowledged; }));
}

/// What is still to be sent, and when; its number stands for name and owner.
void Cleanups::mix_into(HashMixer& hash) const {
  for (const auto& [id, cleanup] : cleanups_) {
    hash.mix(id << 3 | (cleanup.outcome_uncertain ? 1u : 0u) | (cleanup.resend ? 2u : 0u) |
             (cleanup.acknowledged ? 4u : 0u));
    hash.mix(cleanup.command);
    hash.mix(cleanup.next_at);
  }
}

}  // namespace leasehold::core
