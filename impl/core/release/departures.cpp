#include "core/release/departures.hpp"

#include <algorithm>
#include <utility>

#include "core/acquire/attempt_answer.hpp"
#include "core/check.hpp"

namespace leasehold::core {

/// A release passes the lock on where calls queued lately. Elsewhere it deletes the document; a
/// call that queues itself may meet a queue all the same, and deletes only if there is none.
Cleanup::By Departures::way_out(const std::string& name, const LockOptions& options,
                                LocalInstant now) const {
  if (queues_seen_.anyone_waited(name, now)) return Cleanup::By::pass_on;
  return queues(options) ? Cleanup::By::deletion_unless_queued : Cleanup::By::deletion;
}

/// The owner of a lock that was held or lost has to go. Its token is the time at which the document
/// was its own for certain: what a primary says that knows only of times before is no answer.
Cleanup Departures::cleanup_of(const HeldLock& lock, LocalInstant now) const {
  Cleanup cleanup = core::cleanup_of(lock.name, lock.owner, lock.options, now);
  cleanup.by = way_out(lock.name, lock.options, now);
  cleanup.known_at = lock.token;
  cleanup.resend = lock.late_commands;
  return cleanup;
}

/// What an ended call may have won has to go, and its entry in the lock's queue: a pass-on takes
/// out both.
Cleanup Departures::cleanup_of(const AcquireCall& call, LocalInstant now) const {
  Cleanup cleanup = core::cleanup_of(call.name, call.owner, call.options, now);
  cleanup.by = call.queues() ? Cleanup::By::pass_on : way_out(call.name, call.options, now);
  cleanup.known_at = call.place.stood_at();
  cleanup.resend = call.may_own();
  return cleanup;
}

/// The owner may be granted the lock yet, by an entry or by a command that was never answered.
void Departures::remember(const std::string& name, Owner owner, const LockOptions& options,
                          LocalInstant now) {
  queues_seen_.leave_behind(owner,
                            {name, options.effective_operation_timeout(), options.expiry, now});
}

/// `offers` is used by a pass-on alone: after a delete any process may have the lock anyway.
Cleanup Departures::release_of(const HeldLock& lock, SessionId session, Step step) {
  Cleanup release = cleanup_of(lock, step.now);
  release.reporting = session;
  release.offers = lock.had_its_turns();
  // A late attempt of it would leave an entry: a release could pass the lock to this owner.
  if (lock.late_commands && queues(lock.options)) {
    remember(lock.name, lock.owner, lock.options, step.now);
  }
  return release;
}

/// ProviderCore calls this after it looked for a receiver: with one it hands over instead.
void Departures::start(Cleanup release, SendingStep step) {
  cleanups_.start(std::move(release), step);
}

/// The hand-over waits for an answer as long as the shorter timeout of giver and receiver.
void Departures::hand_over(CleanupId id, Cleanup giver, SessionId to, const AcquireCall& receiver,
                           SendingStep step) {
  LEASEHOLD_CHECK(giver.name == receiver.name);
  const LockOptions& options = receiver.options;
  giver.or_owner = receiver.owner;
  giver.timeout = std::min(giver.timeout, options.effective_operation_timeout());
  hand_overs_.start(id, {std::move(giver), to, options.expiry, options.clock_margin}, step);
}

/// The release of the handle sends another delete later, which finds nothing and reports so.
void Departures::give_back(const HeldLock& lock, SendingStep step) {
  cleanups_.start(cleanup_of(lock, step.now), step);
}

/// A hand-over that was under way becomes a delete, of both owners. An attempt that is under way is
/// waited for: its answer says whether there is anything to delete, and a delete that overtook it
/// would find nothing.
void Departures::ended(const AcquireCall& call, SendingStep step) {
  if (call.queues()) remember(call.name, call.owner, call.options, step.now);
  if (const auto* receiving = call.in<AcquireCall::Receiving>()) {
    const CleanupId passing = receiving->hand_over;
    cleanups_.take_over(passing, hand_overs_.stop(passing, step), step);
  }
  const auto* attempting = call.in<AcquireCall::Attempting>();
  if (attempting != nullptr && attempting->command != 0) {
    Cleanup cleanup = cleanup_of(call, step.now);
    cleanup.awaits_attempt = true;
    cleanup.outcome_uncertain = call.may_own();
    cleanup.command = attempting->command;
    // From here on the answer is the clean-up's alone.
    PendingCommand& attempt = step.pending.at(attempting->command);
    attempt.sessions.clear();
    attempt.cleanup = cleanups_.add(std::move(cleanup), step);
  } else if (call.may_own() || call.place.stands()) {
    cleanups_.start(cleanup_of(call, step.now), step);
  }
}

/// The document is there for certain, so it is deleted, and once more for what is on its way.
void Departures::won_too_late(const AcquireCall& call, SendingStep step) {
  Cleanup cleanup = cleanup_of(call, step.now);
  cleanup.resend = true;
  if (call.queues()) remember(call.name, call.owner, call.options, step.now);
  cleanups_.start(std::move(cleanup), step);
}

/// Only a certain refusal leaves nothing; what was certainly not executed leaves nothing either.
/// What is unknown is taken for a win.
void Departures::answered_attempt(CleanupId id, const Reply& reply, SendingStep step) {
  const bool executed = reply.outcome == Outcome::done || reply.outcome == Outcome::unknown;
  const bool may_have_won = executed && !refuses(reply, cleanups_.at(id).owner);
  cleanups_.attempt_ended(id, may_have_won, reply, step);
}

/// INVARIANT: exactly one of both parts has the number, as `ended` says when it changes hands.
std::optional<HandOvers::Answer> Departures::answered_hand_over(const PendingCommand& command,
                                                                const Reply& reply,
                                                                SendingStep step) {
  if (command.sessions.empty()) {
    cleanups_.hand_over_ended(command.cleanup, reply.outcome, step);
    return std::nullopt;
  }
  return hand_overs_.answered(command, reply, step);
}

/// A pass-on shows the document as it was before, and with it the calls that waited then.
std::optional<std::string> Departures::answered_delete(const PendingCommand& command,
                                                       const Reply& reply, SendingStep step) {
  const std::string name = cleanups_.at(command.cleanup).name;
  if (!reply.documents.empty()) queues_seen_.see(name, reply.documents.front(), step.now);
  if (!cleanups_.delete_answered(command, reply, step)) return std::nullopt;
  return name;
}

/// The lock is given back at once, or others would wait for its lease. Most news are of this
/// provider's own writes, of owners that are not remembered here.
void Departures::granted(const NamedOwner& named, Owner owner, SendingStep step) {
  const auto departed = queues_seen_.take(owner);
  // News of its own win may come when its release is under way already.
  if (!departed || cleanups_.granted_since(owner, step)) return;
  Cleanup cleanup;
  cleanup.name = departed->name;
  cleanup.owner = owner;
  cleanup.by = Cleanup::By::pass_on;
  cleanup.known_at = named.at;
  cleanup.timeout = departed->timeout;
  cleanup.give_up_at = two_leases_from(step.now, departed->expiry);
  cleanups_.start(std::move(cleanup), step);
}

/// An id is that of a clean-up or of a hand-over, never of both: one of the two finds nothing.
void Departures::due(CleanupId id, bool waited_in_line, SendingStep step) {
  cleanups_.due(id, waited_in_line, step);
  hand_overs_.due(id, step);
}

/// As `due`: one of the two finds nothing.
void Departures::report_unknown(CleanupId id, Step step) {
  cleanups_.report_unknown(id, step);
  hand_overs_.report_unknown(id, step);
}

}  // namespace leasehold::core
