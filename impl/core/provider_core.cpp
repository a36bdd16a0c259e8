#include "core/provider_core.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace leasehold::core {

/// The owner of a lock that was held or lost has to go.
Cleanup ProviderCore::cleanup_of(const HeldLock& lock, Step step) const {
  Cleanup cleanup = core::cleanup_of(lock.name, lock.owner, lock.options, step.now);
  cleanup.by = way_out(lock.name, lock.options, step);
  cleanup.known_at = lock.token;
  cleanup.resend = lock.late_commands;
  return cleanup;
}

/// What an ended call may have won has to go, and its entry in the lock's queue.
Cleanup ProviderCore::cleanup_of(const AcquireCall& call, Step step) const {
  Cleanup cleanup = core::cleanup_of(call.name, call.owner, call.options, step.now);
  cleanup.by = call.queues() ? Cleanup::By::pass_on : way_out(call.name, call.options, step);
  cleanup.known_at = call.place.stood_at();
  cleanup.resend = call.may_own();
  return cleanup;
}

void ProviderCore::next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out) {
  std::visit([&](const auto& e) { on(e, Step{now, entropy, out}); }, event);
}

/// A single attempt goes past the queue: its caller asks whether the lock is free now.
void ProviderCore::on(const AcquireAsked& event, Step step) {
  LEASEHOLD_CHECK(!attempts_.find(event.session) && !held_.find(event.session));
  if (closed_) {
    step.out.push_back(
        Ended{event.session, event.name, {ErrorKind::shut_down, 0, "the provider is closed"}});
    return;
  }
  attempts_.add(event, step);
  if (event.single_attempt || queues_.join(event.name, event.session)) {
    attempts_.start(event.session, pending_, step);
  }
}

/// Who has won already keeps the lock: the caller finds it and may release.
void ProviderCore::on(const CancelAsked& event, Step step) {
  give_up(event.session, ErrorKind::cancelled, "cancelled", step);
}

/// Held or lost, the handle has ended: it answers no from before this event on.
void ProviderCore::on(const ReleaseAsked& event, Step step) {
  const HeldLock* lock = held_.find(event.session);
  if (lock == nullptr) return;
  clear_timer(Timer::Kind::lease_end, event.session, step);
  Cleanup cleanup = cleanup_of(*lock, step);
  cleanup.reporting = event.session;
  const bool may_pass_on = lock->may_be_handed_over() && !closed_;
  const int in_a_row = lock->hand_overs + 1;
  cleanup.offers = lock->had_its_turns();
  if (lock->late_commands && queues(lock->options)) {
    remember_departed(lock->name, lock->owner, lock->options, step);
  }
  // Before anything is sent: this process must not hold what the server may give to another.
  held_.erase(event.session);
  const SessionId next = queues_.after(event.session, cleanup.name);
  if (may_pass_on && attempts_.can_receive(next)) {
    return hand_over(std::move(cleanup), next, in_a_row, step);
  }
  // A release without hand-over ends the tenure of this process.
  WaitQueue* queue = queues_.headed_by(event.session, cleanup.name);
  if (queue != nullptr) queue->tenure = step.now - queue->tenure_since;
  // Where others queue, who waits here joins them at once; otherwise once it is free.
  const bool queued = cleanup.by == Cleanup::By::pass_on;
  leave_queue(cleanup.name, event.session, queued ? step.now : LocalInstant::max(), step);
  cleanups_.start(std::move(cleanup), pending_, step);
}

/// The lock goes from the owner of the handle that has ended to the receiver's. It waits no longer
/// for an answer than the more impatient of both would.
void ProviderCore::hand_over(Cleanup giver, SessionId receiver, int in_a_row, Step step) {
  queues_.pass_to(giver.name, receiver);
  const CleanupId id = cleanups_.new_id();
  const AcquireCall& call = attempts_.receive(receiver, id, in_a_row, step);
  giver.or_owner = call.owner;
  giver.timeout = std::min(giver.timeout, call.options.effective_operation_timeout());
  hand_overs_.start(id,
                    {std::move(giver), receiver, call.options.expiry, call.options.clock_margin},
                    pending_, step);
}

/// As if the timer had fired, which may be late: held() has answered no, and that is final.
void ProviderCore::on(const DeadlineSeen& event, Step step) {
  lose(event.session, LostReason::deadline, step);
}

/// Locks that are held stay held: their handles outlive the provider.
void ProviderCore::on(const CloseAsked&, Step step) {
  closed_ = true;  // first: no call that ends below promotes the next of its queue
  stream_.end(pending_, step);
  for (const auto id : attempts_.ids()) {
    give_up(id, ErrorKind::shut_down, "the provider was destroyed", step);
  }
}

/// INVARIANT: an answer is heard once. A second one, and one after its timeout, find no command.
void ProviderCore::on(const ReplyArrived& event, Step step) {
  const auto command = pending_.take(event.command, step);
  if (!command) return;
  const auto lose_all = [&](const std::vector<HeldLocks::Loss>& losses) {
    for (const auto& [id, reason] : losses) lose(id, reason, step);
    held_.arm_round(step);
  };
  switch (command->kind) {
    case PendingCommand::Kind::attempt: return answer_attempt(*command, event.reply, step);
    case PendingCommand::Kind::extension:
      return lose_all(held_.extension_answered(*command, event.reply, pending_, step));
    case PendingCommand::Kind::read_holders:
      return lose_all(held_.read_holders_answered(*command, event.reply, step));
    case PendingCommand::Kind::cleanup: return answer_delete(*command, event.reply, step);
    case PendingCommand::Kind::hand_over: return answer_hand_over(*command, event.reply, step);
    case PendingCommand::Kind::index: return index_.answered(event.reply, step);
    case PendingCommand::Kind::stream: return answer_stream(event.command, event.reply, step);
  }
}

/// Whether it is of any use still, each part says: a timer may fire early, twice, or too late.
void ProviderCore::on(const TimerFired& event, Step step) {
  const auto id = event.timer.id;
  switch (event.timer.kind) {
    case Timer::Kind::attempt: return attempts_.due(id, pending_, step);
    case Timer::Kind::give_up:
      if (attempts_.times_out(id, step.now)) give_up(id, ErrorKind::timed_out, "timed out", step);
      return;
    case Timer::Kind::lease_end:
      if (held_.lease_ends(id, step)) lose(id, LostReason::deadline, step);
      return;
    // As if an answer had come that says nothing; a late real one finds no command any more.
    case Timer::Kind::command_timeout:
      if (!pending_.contains(id)) return;
      step.out.push_back(Abandon{id});
      return on(ReplyArrived{id, {.message = "no reply within the operation timeout"}}, step);
    case Timer::Kind::extension_round:
      if (!held_.round_begins(step.now)) return;
      // First what is over is lost, or the round would extend it.
      for (const auto over : held_.over(step.now)) lose(over, LostReason::deadline, step);
      return held_.run_round(pending_, step);
    // The number is a clean-up's or a hand-over's, never both.
    case Timer::Kind::cleanup:
      cleanups_.due(id, pending_, step);
      return hand_overs_.due(id, pending_, step);
    case Timer::Kind::report:
      cleanups_.report_unknown(id, step);
      return hand_overs_.report_unknown(id, step);
    case Timer::Kind::stream: return stream_.due(pending_, step);
  }
}

/// Those who wait here contend at once: whoever took the lock away is not in this process.
void ProviderCore::lose(SessionId id, LostReason reason, Step step) {
  const HeldLock* lock = held_.find(id);
  if (lock == nullptr || lock->lost) return;
  // At the end of a limited holding the lock is also given back.
  const bool limited = reason == LostReason::deadline && lock->deadline == lock->ends_at;
  if (limited) {
    reason = LostReason::max_holding;
    cleanups_.start(cleanup_of(*lock, step), pending_, step);
  }
  held_.lose(id, reason, step);
  leave_queue(lock->name, id, step.now, step);
}

/// Whoever becomes the head by that contends, with a first attempt at that time at the latest.
void ProviderCore::leave_queue(const std::string& name, SessionId id, LocalInstant at_latest,
                               Step step) {
  const SessionId next = queues_.leave(name, id, !closed_);
  if (next != 0) attempts_.contend(next, at_latest, hears(next), pending_, step);
}

/// A document of this process is gone for certain: that is news for who waits here.
void ProviderCore::answer_delete(const PendingCommand& command, const Reply& reply, Step step) {
  const std::string name = cleanups_.at(command.cleanup).name;
  if (!reply.documents.empty()) queues_seen_.see(name, reply.documents.front(), step.now);
  if (!cleanups_.delete_answered(command, reply, pending_, step)) return;
  const WaitQueue* queue = queues_.find(name);
  if (queue == nullptr) return;
  attempts_.bring_forward(queue->head, queue->turn_after_release(step.now), pending_, step);
}

/// Whatever it says of releases is a hint: an attempt decides. So late, missing or invented news
/// cost time only.
void ProviderCore::answer_stream(CommandId command, const Reply& reply, Step step) {
  const auto heard = stream_.answered(command, reply, attempts_.anyone_listens(), pending_, step);
  if (heard == ChangeStream::Heard::nothing) return;
  for (const auto& freed : reply.freed) {
    stream_.reported(freed.name);
    const WaitQueue* queue = queues_.find(freed.name);
    AcquireCall* listener = queue == nullptr ? nullptr : attempts_.find_listening(queue->head);
    if (listener == nullptr) continue;
    // What happened before it came does not bring its turn nearer.
    if (freed.at > listener->waits_since) ++listener->releases;
    attempts_.wake(queue->head, pending_, step);
  }
  for (const auto& named : reply.named) read_named(named, command, step);
  if (heard == ChangeStream::Heard::opened) {  // it may have missed what somebody waits for
    for (const auto& [name, queue] : queues_.all()) {
      const AcquireCall* call = attempts_.find(queue.head);
      if (call == nullptr) continue;
      if (call->wants_releases()) attempts_.wake(queue.head, pending_, step);
      if (call->queues()) attempts_.bring_forward(queue.head, step.now, pending_, step);
    }
  }
  const Duration turn = attempts_.nearest_turn(step);
  stream_.read_on(attempts_.anyone_listens(), turn, pending_, step);
}

/// Not everything is mixed in: what differs in two equal hashes, equality tells apart.
std::size_t ProviderCore::hash() const {
  HashMixer hash;
  attempts_.mix_into(hash);
  held_.mix_into(hash);
  cleanups_.mix_into(hash);
  pending_.mix_into(hash);
  return hash.value();
}

}  // namespace leasehold::core
