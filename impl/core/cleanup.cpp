#include <algorithm>

#include "core/check.hpp"
#include "core/provider_core.hpp"

namespace leasehold::core {
namespace {

/// From the shortest first pause, 10 ms, to the longest.
constexpr int kMostCleanupDoublings = 9;
constexpr std::chrono::seconds kLongestCleanupPause{5};

}  // namespace

ProviderCore::Cleanup ProviderCore::make_cleanup(const Session& session, Step step) const {
  Cleanup cleanup;
  cleanup.name = session.name;
  cleanup.owner = session.owner;
  cleanup.won = session.token;
  cleanup.timeout = session.options.effective_operation_timeout();
  cleanup.give_up_at = step.now + 2 * session.options.expiry;
  cleanup.resend = session.unanswered > 0;
  return cleanup;
}

ProviderCore::CleanupId ProviderCore::start_cleanup(Cleanup cleanup, Step step) {
  const CleanupId id = ++last_cleanup_;
  Cleanup& kept = cleanups_.emplace(id, std::move(cleanup)).first->second;
  if (kept.reporting) {
    step.out.push_back(SetTimer{{Timer::Kind::report, id}, step.now + kept.timeout});
  }
  send_cleanup(id, kept, step);
  return id;
}

/// A hand-over as long as somebody receives, then a delete.
void ProviderCore::send_cleanup(CleanupId id, Cleanup& cleanup, Step step) {
  if (cleanup.receiver != 0) return send_hand_over(id, cleanup, step);
  send_delete(id, cleanup, step);
}

void ProviderCore::send_delete(CleanupId id, Cleanup& cleanup, Step step) {
  LEASEHOLD_CHECK(cleanup.command == 0);
  cleanup.command = send({.kind = PendingCommand::Kind::cleanup, .cleanup = id}, cleanup.timeout,
                         DeleteCommand{cleanup.name, cleanup.owner, cleanup.or_owner}, step);
}

/// The attempt that a given-up call had under way was answered, or never will be.
void ProviderCore::attempt_ended(CleanupId id, bool may_have_won, Outcome outcome, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.awaits_attempt);
  if (!may_have_won && !cleanup.outcome_uncertain) {
    cleanups_.erase(id);
    return;
  }
  cleanup.awaits_attempt = false;
  cleanup.resend = cleanup.outcome_uncertain || outcome != Outcome::done;
  cleanup.outcome_uncertain = false;
  cleanup.command = 0;
  send_delete(id, cleanup, step);
}

/// How soon to repeat what failed: at first often within one time-out, then ever more seldom, so
/// that an overloaded server recovers. The last try is at the end.
Duration ProviderCore::pause_after_failure(const Cleanup& cleanup, LocalInstant now) {
  const auto first = std::clamp<Duration>(cleanup.timeout / 4, std::chrono::milliseconds(10),
                                          std::chrono::seconds(1));
  const auto pause = std::min<Duration>(first * (1 << cleanup.failures), kLongestCleanupPause);
  return std::min(pause, cleanup.give_up_at - now);
}

void ProviderCore::answer_delete(const PendingCommand& pending, const Reply& reply, Step step) {
  const CleanupId id = pending.cleanup;
  Cleanup& cleanup = cleanups_.at(id);
  cleanup.command = 0;
  if (reply.outcome == Outcome::configuration) {
    report(id, ReleaseResult::unknown, step);
    step.out.push_back(Warned{"lock '" + cleanup.name + "' cannot be deleted: " + reply.message});
    cleanups_.erase(id);
    return;
  }
  if (reply.outcome != Outcome::done || (reply.matched == 0 && reply.is_before(cleanup.won))) {
    cleanup.outcome_uncertain |= reply.outcome == Outcome::unknown;
    if (step.now >= cleanup.give_up_at) {
      report(id, ReleaseResult::unknown, step);
      cleanups_.erase(id);
      return;
    }
    const auto pause = pause_after_failure(cleanup, step.now);
    cleanup.failures = std::min(cleanup.failures + 1, kMostCleanupDoublings);
    return pause_cleanup(id, cleanup, pause, step);
  }
  // Nothing matched after a delete without an answer: that one may have been it.
  const auto nothing =
      cleanup.outcome_uncertain ? ReleaseResult::unknown : ReleaseResult::not_owner;
  report(id, reply.matched > 0 ? ReleaseResult::released : nothing, step);
  cleanup.acknowledged = true;
  const std::string name = cleanup.name;
  if (cleanup.resend) {
    cleanup.resend = false;
    pause_cleanup(id, cleanup, cleanup.timeout, step);
  } else {
    cleanups_.erase(id);
  }
  if (reply.matched > 0) freed(name, step);
}

void ProviderCore::pause_cleanup(CleanupId id, Cleanup& cleanup, Duration pause, Step step) {
  cleanup.next_at = step.now + pause;
  step.out.push_back(SetTimer{{Timer::Kind::cleanup, id}, cleanup.next_at});
}

void ProviderCore::report(CleanupId id, ReleaseResult result, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  if (!cleanup.reporting) return;
  clear_timer(Timer::Kind::report, id, step);
  step.out.push_back(Released{*cleanup.reporting, result});
  cleanup.reporting.reset();
}

}  // namespace leasehold::core
