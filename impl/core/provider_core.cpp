#include "core/provider_core.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

/// The owner of a lock that was held or lost has to go.
Cleanup cleanup_of(const HeldLock& lock, Step step) {
  Cleanup cleanup = cleanup_of(lock.name, lock.owner, lock.options, step.now);
  cleanup.won = lock.token;
  cleanup.resend = lock.late_commands;
  return cleanup;
}

}  // namespace

void ProviderCore::next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out) {
  std::visit([&](const auto& e) { on(e, Step{now, entropy, out}); }, event);
}

void ProviderCore::on(const AcquireAsked& event, Step step) {
  LEASEHOLD_CHECK(!attempts_.find(event.session) && !held_.find(event.session));
  if (closed_) {
    step.out.push_back(Ended{event.session, {ErrorKind::shut_down, 0, "the provider is closed"}});
    return;
  }
  attempts_.add(event, step);
  if (event.single_attempt || queues_.join(event.name, event.session)) {
    attempts_.start(event.session, pending_, step);
  }
}

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
  const SessionId receiver = receiver_after(event.session, *lock);
  const int in_a_row = lock->hand_overs + 1;
  held_.erase(event.session);
  if (receiver != 0) return hand_over(std::move(cleanup), receiver, in_a_row, step);
  // A release without hand-over ends the tenure of this process.
  WaitQueue* queue = queues_.headed_by(event.session, cleanup.name);
  if (queue != nullptr) queue->tenure = step.now - queue->tenure_since;
  leave_queue(cleanup.name, event.session, LocalInstant::max(), step);
  cleanups_.start(std::move(cleanup), pending_, step);
}

void ProviderCore::on(const DeadlineSeen& event, Step step) { run_out(event.session, step); }

/// Locks that are held stay held: their handles outlive the provider.
void ProviderCore::on(const CloseAsked&, Step step) {
  closed_ = true;
  stream_.end(pending_, step);
  for (const auto id : attempts_.ids()) {
    give_up(id, ErrorKind::shut_down, "the provider was destroyed", step);
  }
}

void ProviderCore::on(const ReplyArrived& event, Step step) {
  const auto command = pending_.take(event.command, step);
  if (!command) return;
  switch (command->kind) {
    case PendingCommand::Kind::attempt: return answer_attempt(*command, event.reply, step);
    case PendingCommand::Kind::extension:
      lose_all(held_.extension_answered(*command, event.reply, pending_, step), step);
      return held_.arm_round(step);
    case PendingCommand::Kind::read_holders:
      lose_all(held_.read_holders_answered(*command, event.reply, step), step);
      return held_.arm_round(step);
    case PendingCommand::Kind::cleanup: return answer_delete(*command, event.reply, step);
    case PendingCommand::Kind::hand_over: return answer_hand_over(*command, event.reply, step);
    case PendingCommand::Kind::index: return answer_index(event.reply, step);
    case PendingCommand::Kind::stream: return answer_stream(event.command, event.reply, step);
  }
}

void ProviderCore::on(const TimerFired& event, Step step) {
  const auto id = event.timer.id;
  switch (event.timer.kind) {
    case Timer::Kind::attempt: {
      const AcquireCall* call = attempts_.find(id);
      const auto* waiting = call == nullptr ? nullptr : call->in<AcquireCall::Waiting>();
      if (waiting != nullptr && step.now >= waiting->attempt_at) {
        attempts_.start(id, pending_, step);
      }
      return;
    }
    case Timer::Kind::give_up: {
      const AcquireCall* call = attempts_.find(id);
      if (call != nullptr && call->give_up_at && step.now >= *call->give_up_at) {
        give_up(id, ErrorKind::timed_out, "timed out", step);
      }
      return;
    }
    case Timer::Kind::lease_end: {
      const HeldLock* lock = held_.find(id);
      if (lock == nullptr || lock->lost) return;
      if (step.now >= lock->deadline) return run_out(id, step);
      return set_timer(Timer::Kind::lease_end, id, lock->deadline, step);
    }
    // As if an answer had come that says nothing; a late real one finds no command any more.
    case Timer::Kind::command_timeout:
      if (!pending_.contains(id)) return;
      step.out.push_back(Abandon{id});
      return on(ReplyArrived{id, {.message = "no reply within the operation timeout"}}, step);
    case Timer::Kind::extension_round:
      if (held_.round_begins(step.now)) run_extension_round(step);
      return;
    case Timer::Kind::cleanup: {
      const Cleanup* cleanup = cleanups_.find(id);
      if (cleanup == nullptr || cleanup->command != 0 || step.now < cleanup->next_at) return;
      if (cleanup->receiver != 0) return send_hand_over(id, step);
      return cleanups_.send_delete(id, pending_, step);
    }
    case Timer::Kind::report:
      if (cleanups_.find(id)) cleanups_.report(id, ReleaseResult::unknown, step);
      return;
    case Timer::Kind::stream: return stream_.due(pending_, step);
  }
}

/// First what is over is lost, or the round would extend it.
void ProviderCore::run_extension_round(Step step) {
  for (const auto id : held_.over(step.now)) run_out(id, step);
  held_.run_round(pending_, step);
}

/// The deadline has come. At the end of a limited holding the lock is also given back.
void ProviderCore::run_out(SessionId id, Step step) {
  const HeldLock* lock = held_.find(id);
  if (lock == nullptr || lock->lost) return;
  const bool limited = lock->deadline == lock->ends_at;
  if (limited) {
    cleanups_.start(cleanup_of(*lock, step), pending_, step);
  }
  lose(id, limited ? LostReason::max_holding : LostReason::deadline, step);
}

void ProviderCore::lose_all(const std::vector<HeldLocks::Loss>& losses, Step step) {
  for (const auto& [id, reason] : losses) {
    reason == LostReason::deadline ? run_out(id, step) : lose(id, reason, step);
  }
}

/// Those who wait here contend at once: whoever took the lock away is not in this process.
void ProviderCore::lose(SessionId id, LostReason reason, Step step) {
  HeldLock* lock = held_.find(id);
  LEASEHOLD_CHECK(lock != nullptr && !lock->lost);
  lock->lost = true;
  step.out.push_back(Lost{id, reason});
  clear_timer(Timer::Kind::lease_end, id, step);
  leave_queue(lock->name, id, step.now, step);
}

void ProviderCore::answer_delete(const PendingCommand& command, const Reply& reply, Step step) {
  const std::string name = cleanups_.at(command.cleanup).name;
  if (cleanups_.delete_answered(command.cleanup, reply, step)) freed(name, step);
}

/// Who would act on what the change stream says: the heads of the queues.
Audience ProviderCore::audience() {
  if (closed_) return Audience::ended;
  const bool somebody = std::any_of(
      queues_.all().begin(), queues_.all().end(),
      [this](const auto& queue) { return attempts_.listener(queue.second.head) != nullptr; });
  return somebody ? Audience::listening : Audience::nobody;
}

/// Nobody would act on news sooner than that. When nobody waits, the next who does will ask for
/// what has come until then.
Duration ProviderCore::nearest_turn(Step step) const {
  std::optional<Duration> nearest;
  for (const auto& [name, queue] : queues_.all()) {
    const auto turn = attempts_.turn(queue.head, stream_.is_open(), step);
    if (turn) nearest = std::min(nearest.value_or(*turn), *turn);
  }
  return nearest.value_or(kStreamLull);
}

void ProviderCore::answer_stream(CommandId command, const Reply& reply, Step step) {
  const auto heard = stream_.answered(command, reply, audience(), pending_, step);
  if (heard == ChangeStream::Heard::nothing) return;
  for (const auto& freed : reply.freed) {
    stream_.reported(freed.name);
    const WaitQueue* queue = queues_.find(freed.name);
    AcquireCall* listener = queue == nullptr ? nullptr : attempts_.listener(queue->head);
    if (listener == nullptr) continue;
    // What happened before it came does not bring its turn nearer.
    if (freed.at > listener->waits_since) ++listener->releases;
    attempts_.wake(queue->head, true, pending_, step);
  }
  if (heard == ChangeStream::Heard::opened) {  // it may have missed what somebody waits for
    for (const auto& [name, queue] : queues_.all()) {
      if (attempts_.listener(queue.head)) attempts_.wake(queue.head, true, pending_, step);
    }
  }
  stream_.read_on(audience(), nearest_turn(step), pending_, step);
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
