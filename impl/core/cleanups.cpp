#include "core/cleanups.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace leasehold::core {
namespace {

/// From the shortest first pause, 10 ms, to the longest.
constexpr int kMostCleanupDoublings = 9;
constexpr std::chrono::seconds kLongestCleanupPause{5};

Duration pause_after_failure(const Cleanup& cleanup, LocalInstant now) {
  const auto first = std::clamp<Duration>(cleanup.timeout / 4, std::chrono::milliseconds(10),
                                          std::chrono::seconds(1));
  const auto pause = std::min<Duration>(first * (1 << cleanup.failures), kLongestCleanupPause);
  return std::min(pause, cleanup.give_up_at - now);
}

}  // namespace

Cleanup cleanup_of(const std::string& name, Owner owner, const LockOptions& options,
                   LocalInstant now) {
  Cleanup cleanup;
  cleanup.name = name;
  cleanup.owner = owner;
  cleanup.timeout = options.effective_operation_timeout();
  cleanup.give_up_at = now + 2 * options.expiry;
  return cleanup;
}

/// Who releases is not kept waiting for longer than one operation: then the result is unknown, and
/// the clean-up goes on without it.
CleanupId Cleanups::add(Cleanup cleanup, Step step) {
  const CleanupId id = ++last_;
  if (cleanup.reporting) set_timer(Timer::Kind::report, id, step.now + cleanup.timeout, step);
  cleanups_.emplace(id, std::move(cleanup));
  return id;
}

void Cleanups::start(Cleanup cleanup, PendingCommands& pending, Step step) {
  send_delete(add(std::move(cleanup), step), pending, step);
}

Cleanup* Cleanups::find(CleanupId id) {
  const auto found = cleanups_.find(id);
  return found == cleanups_.end() ? nullptr : &found->second;
}

/// By owner, never by name alone: whatever became of the lock since, another's document is not
/// touched. That makes it safe to send again.
void Cleanups::send_delete(CleanupId id, PendingCommands& pending, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.command == 0);
  cleanup.command =
      pending.send({.kind = PendingCommand::Kind::cleanup, .cleanup = id}, cleanup.timeout,
                   DeleteCommand{cleanup.name, cleanup.owner, cleanup.or_owner}, step);
}

void Cleanups::attempt_ended(CleanupId id, bool may_have_won, Outcome outcome,
                             PendingCommands& pending, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.awaits_attempt);
  // Certainly refused or not executed, as were all before: there is nothing to delete.
  if (!may_have_won && !cleanup.outcome_uncertain) return erase(id);
  cleanup.awaits_attempt = false;
  // A request that was never answered may arrive after the delete and win then.
  cleanup.resend = cleanup.outcome_uncertain || outcome != Outcome::done;
  cleanup.outcome_uncertain = false;
  cleanup.command = 0;
  send_delete(id, pending, step);
}

/// A delete that nobody acknowledged is repeated even if it was executed: a primary that steps down
/// may lose it, and with it the release.
bool Cleanups::delete_answered(CleanupId id, const Reply& reply, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  cleanup.command = 0;
  // No right to delete, say: to try again cannot succeed. The document expires by itself.
  if (reply.outcome == Outcome::configuration) {
    report(id, ReleaseResult::unknown, step);
    step.out.push_back(Warned{"lock '" + cleanup.name + "' cannot be deleted: " + reply.message});
    erase(id);
    return false;
  }
  // An old primary, cut off before the win, does not know the document: that is no answer.
  if (reply.outcome != Outcome::done || (reply.matched == 0 && reply.is_before(cleanup.won))) {
    cleanup.outcome_uncertain |= reply.outcome == Outcome::unknown;
    if (step.now >= cleanup.give_up_at) {
      report(id, ReleaseResult::unknown, step);
      erase(id);
    } else {
      retry_later(id, step);
    }
    return false;
  }
  // Nothing matched after a delete without an answer: that one may have been it.
  const auto nothing =
      cleanup.outcome_uncertain ? ReleaseResult::unknown : ReleaseResult::not_owner;
  report(id, reply.matched > 0 ? ReleaseResult::released : nothing, step);
  cleanup.acknowledged = true;
  if (cleanup.resend) {
    cleanup.resend = false;
    pause(id, cleanup, cleanup.timeout, step);
  } else {
    erase(id);
  }
  return reply.matched > 0;
}

void Cleanups::retry_later(CleanupId id, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  const auto span = pause_after_failure(cleanup, step.now);
  // A hand-over is tried again at an even pace: somebody waits for it.
  const bool plain_delete = cleanup.receiver == 0;
  if (plain_delete) cleanup.failures = std::min(cleanup.failures + 1, kMostCleanupDoublings);
  pause(id, cleanup, span, step);
}

void Cleanups::pause(CleanupId id, Cleanup& cleanup, Duration pause, Step step) {
  cleanup.next_at = step.now + pause;
  set_timer(Timer::Kind::cleanup, id, cleanup.next_at, step);
}

/// Also when it is too late for the caller, who got "unknown": then nobody waits any more.
void Cleanups::report(CleanupId id, ReleaseResult result, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  if (!cleanup.reporting) return;
  clear_timer(Timer::Kind::report, id, step);
  step.out.push_back(Released{*cleanup.reporting, result});
  cleanup.reporting.reset();
}

std::size_t Cleanups::left() const {
  return static_cast<std::size_t>(std::count_if(
      cleanups_.begin(), cleanups_.end(), [](const auto& c) { return !c.second.acknowledged; }));
}

void Cleanups::mix_into(HashMixer& hash) const {
  for (const auto& [id, cleanup] : cleanups_) {
    hash.mix(id << 3 | (cleanup.outcome_uncertain ? 1u : 0u) | (cleanup.resend ? 2u : 0u) |
             (cleanup.acknowledged ? 4u : 0u));
    hash.mix(cleanup.command);
    hash.mix(cleanup.next_at);
  }
}

}  // namespace leasehold::core
