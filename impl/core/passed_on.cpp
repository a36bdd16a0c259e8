#include "core/provider_core.hpp"

/// How a lock comes from another process by way of its queue, and how it goes there.
namespace leasehold::core {
namespace {

/// Who is offered a lock leaves it to those who poll for so long.
constexpr std::chrono::milliseconds kTurnOfOthers{20};

}  // namespace

/// A release passes the lock on where somebody queued lately. Elsewhere it deletes the document;
/// one who might meet a queue all the same, because it queues itself, makes sure that there is
/// none.
Cleanup::By ProviderCore::way_out(const std::string& name, const LockOptions& options,
                                  Step step) const {
  if (queues_seen_.anyone_waited(name, step.now)) return Cleanup::By::pass_on;
  return queues(options) ? Cleanup::By::deletion_unless_queued : Cleanup::By::deletion;
}

ChangeStream::Reports ProviderCore::reports_for(const AcquireCall& call) const {
  ChangeStream::Reports reports;
  reports.releases = call.wants_releases();
  if (call.queues()) reports.grants = attempts_.provider();
  return reports;
}

/// Whether the stream tells this call what it waits for.
bool ProviderCore::hears(SessionId id) const {
  const AcquireCall* call = attempts_.find(id);
  return call != nullptr && stream_.is_open_for(reports_for(*call));
}

/// The stream reports a write that names an owner of this provider. Most are its own writes, of
/// locks that it holds or held.
void ProviderCore::read_named(const NamedOwner& named, CommandId command, Step step) {
  const auto parts = parse_lock_id(named.document.lock_id);
  if (!parts) return;
  const WaitQueue* queue = queues_.find(named.document.name);
  const AcquireCall* call = queue == nullptr ? nullptr : attempts_.find(queue->head);
  if (call != nullptr && call->owner == parts->owner) {
    return notify(queue->head, named, command, step);
  }
  return_grant(named, parts->owner, step);
}

/// A grant to a call that ended is given back at once, or others would wait for its lease.
void ProviderCore::return_grant(const NamedOwner& named, Owner owner, Step step) {
  const auto departed = queues_seen_.take(owner);
  // News of its own win may come when its release is under way already.
  if (!departed || cleanups_.granted_since(owner, pending_, step)) return;
  Cleanup cleanup;
  cleanup.name = departed->name;
  cleanup.owner = owner;
  cleanup.by = Cleanup::By::pass_on;
  cleanup.known_at = named.at;
  cleanup.timeout = departed->timeout;
  cleanup.give_up_at = step.now + 2 * departed->expiry;
  cleanups_.start(std::move(cleanup), pending_, step);
}

/// During an attempt they wait for its answer, which may be of later than they are. A call that
/// gets the lock from this process has other things to do.
void ProviderCore::notify(SessionId id, const NamedOwner& named, CommandId command, Step step) {
  AcquireCall& call = attempts_.at(id);
  if (call.in<AcquireCall::Attempting>()) {
    call.place.news = named;
    return;
  }
  if (!call.in<AcquireCall::Waiting>()) return;
  switch (named.as) {
    case NamedOwner::As::holder: return take_grant(id, named, command, step);
    case NamedOwner::As::next:
      return attempts_.bring_forward(id, step.now + kTurnOfOthers, pending_, step);
    // It may have the lock: its own attempt shows.
    case NamedOwner::As::unclear: return attempts_.bring_forward(id, step.now, pending_, step);
  }
}

/// The lease counts from the sending of the attempt that the grant names. Not from the news, nor
/// from anything read since: what is read may be of an old primary, from before the grant ended
/// again. What is too old to be used is made new by an attempt, which finds the lock its own.
void ProviderCore::take_grant(SessionId id, const NamedOwner& named, CommandId command, Step step) {
  const AcquireCall& call = attempts_.at(id);
  const auto parts = parse_lock_id(named.document.lock_id);
  const auto sent = call.place.sent_at(parts->beat);
  const bool usable =
      sent && step.now < lease_deadline(*sent, call.options.expiry, call.options.max_drift);
  if (!usable) return attempts_.bring_forward(id, step.now, pending_, step);
  attempts_.stop_waiting(id, step);
  win(id, {Granted::By::pass_on, command, *sent, named.document, named.at}, step);
}

/// News that came during an attempt. One that was executed after them knows better: it was refused
/// although the lock had been passed to it.
void ProviderCore::act_on_news(SessionId id, const std::optional<NamedOwner>& news,
                               const Reply& attempt, Step step) {
  if (!news || attempts_.find(id) == nullptr) return;
  const bool outdated = attempt.outcome == Outcome::done && !attempt.is_before(news->at);
  if (!outdated) notify(id, *news, 0, step);
}

void ProviderCore::remember_departed(const std::string& name, Owner owner,
                                     const LockOptions& options, Step step) {
  queues_seen_.leave_behind(
      owner, {name, options.effective_operation_timeout(), options.expiry, step.now});
}

}  // namespace leasehold::core
