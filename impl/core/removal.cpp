#include <algorithm>

#include "core/check.hpp"
#include "core/provider_core.hpp"

namespace leasehold::core {
namespace {

/// From the shortest first pause, 10 ms, to the longest.
constexpr int kMostRemovalDoublings = 9;
constexpr std::chrono::seconds kLongestRemovalPause{5};

}  // namespace

ProviderCore::Removal ProviderCore::make_removal(const Session& session, Step step) const {
  Removal removal;
  removal.name = session.name;
  removal.owner = session.owner;
  removal.won = session.token;
  removal.timeout = session.options.effective_operation_timeout();
  removal.stop_at = step.now + 2 * session.options.expiry;
  removal.repeat = session.unanswered > 0;
  return removal;
}

ProviderCore::RemovalId ProviderCore::start_removal(Removal removal, Step step) {
  const RemovalId id = ++last_removal_;
  Removal& kept = removals_.emplace(id, std::move(removal)).first->second;
  if (kept.reporting) {
    step.out.push_back(SetTimer{{Timer::Kind::report, id}, step.now + kept.timeout});
  }
  send_removal(id, kept, step);
  return id;
}

/// A hand-over as long as somebody receives, then a delete.
void ProviderCore::send_removal(RemovalId id, Removal& removal, Step step) {
  if (removal.receiver != 0) return send_hand_over(id, removal, step);
  send_delete(id, removal, step);
}

void ProviderCore::send_delete(RemovalId id, Removal& removal, Step step) {
  LEASEHOLD_CHECK(removal.command == 0);
  removal.command = send({.kind = Flight::Kind::removal, .removal = id}, removal.timeout,
                         DeleteCommand{removal.name, removal.owner, removal.or_owner}, step);
}

/// The attempt that a given-up call had under way was answered, or never will be.
void ProviderCore::attempt_ended(RemovalId id, bool may_have_won, Outcome outcome, Step step) {
  Removal& removal = removals_.at(id);
  LEASEHOLD_CHECK(removal.awaits_attempt);
  if (!may_have_won && !removal.doubtful) {
    removals_.erase(id);
    return;
  }
  removal.awaits_attempt = false;
  removal.repeat = removal.doubtful || outcome != Outcome::done;
  removal.doubtful = false;
  removal.command = 0;
  send_delete(id, removal, step);
}

/// How soon to repeat what failed: at first often within one time-out, then ever more seldom, so
/// that an overloaded server recovers. The last try is at the end.
Duration ProviderCore::pause_after_failure(const Removal& removal, LocalInstant now) {
  const auto first = std::clamp<Duration>(removal.timeout / 4, std::chrono::milliseconds(10),
                                          std::chrono::seconds(1));
  const auto pause = std::min<Duration>(first * (1 << removal.failures), kLongestRemovalPause);
  return std::min(pause, removal.stop_at - now);
}

void ProviderCore::answer_delete(const Flight& flight, const Reply& reply, Step step) {
  const RemovalId id = flight.removal;
  Removal& removal = removals_.at(id);
  removal.command = 0;
  if (reply.outcome == Outcome::configuration) {
    report(id, ReleaseResult::unknown, step);
    step.out.push_back(Warned{"lock '" + removal.name + "' cannot be deleted: " + reply.message});
    removals_.erase(id);
    return;
  }
  if (reply.outcome != Outcome::done || (reply.matched == 0 && reply.is_before(removal.won))) {
    removal.doubtful |= reply.outcome == Outcome::unknown;
    if (step.now >= removal.stop_at) {
      report(id, ReleaseResult::unknown, step);
      removals_.erase(id);
      return;
    }
    const auto pause = pause_after_failure(removal, step.now);
    removal.failures = std::min(removal.failures + 1, kMostRemovalDoublings);
    return pause_removal(id, removal, pause, step);
  }
  // Nothing matched after a delete without an answer: that one may have been it.
  const auto nothing = removal.doubtful ? ReleaseResult::unknown : ReleaseResult::not_owner;
  report(id, reply.matched > 0 ? ReleaseResult::released : nothing, step);
  removal.acknowledged = true;
  const std::string name = removal.name;
  if (removal.repeat) {
    removal.repeat = false;
    pause_removal(id, removal, removal.timeout, step);
  } else {
    removals_.erase(id);
  }
  if (reply.matched > 0) freed(name, step);
}

void ProviderCore::pause_removal(RemovalId id, Removal& removal, Duration pause, Step step) {
  removal.next_at = step.now + pause;
  step.out.push_back(SetTimer{{Timer::Kind::removal, id}, removal.next_at});
}

void ProviderCore::report(RemovalId id, ReleaseResult result, Step step) {
  Removal& removal = removals_.at(id);
  if (!removal.reporting) return;
  clear_timer(Timer::Kind::report, id, step);
  step.out.push_back(Released{*removal.reporting, result});
  removal.reporting.reset();
}

}  // namespace leasehold::core
