#include <algorithm>

#include "core/check.hpp"
#include "core/limits.hpp"
#include "core/provider_core.hpp"

/// How a lock passes along inside this process, and what its release means for those who wait here.
namespace leasehold::core {

/// Who gets the lock that this session holds when it releases now; 0: nobody of this process.
/// A hand-over costs one round trip and leaves other processes no gap to win in; so their turn
/// comes after `hand_overs_in_a_row`.
SessionId ProviderCore::receiver_after(SessionId id, const HeldLock& lock) const {
  const WaitQueue* queue = queues_.find(lock.name);
  if (queue == nullptr || closed_ || lock.lost) return 0;
  // After an attempt that was never answered the owner has to be deleted, and once more.
  if (lock.late_commands) return 0;
  if (lock.hand_overs >= lock.options.hand_overs_in_a_row) return 0;
  if (queue->head == id) return queue->waiters.empty() ? 0 : queue->waiters.front();
  // A single attempt won past the queue: its head may be between two attempts.
  const AcquireCall* head = attempts_.find(queue->head);
  return head != nullptr && head->in<AcquireCall::Waiting>() ? queue->head : 0;
}

/// The old handle has ended: the lock goes from its owner to the receiver's in one command.
void ProviderCore::hand_over(Cleanup cleanup, SessionId to, int in_a_row, Step step) {
  queues_.pass_to(cleanup.name, to);
  AcquireCall& receiver = attempts_.at(to);
  if (receiver.in<AcquireCall::Waiting>()) clear_timer(Timer::Kind::attempt, to, step);
  receiver.hand_overs = in_a_row;
  cleanup.or_owner = receiver.owner;
  cleanup.receiver = to;
  cleanup.timeout = std::min(cleanup.timeout, receiver.options.effective_operation_timeout());
  const CleanupId id = cleanups_.add(std::move(cleanup), step);
  receiver.phase = AcquireCall::Receiving{id};
  send_hand_over(id, step);
}

void ProviderCore::send_hand_over(CleanupId id, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  LEASEHOLD_CHECK(cleanup.command == 0);
  const AcquireCall& receiver = attempts_.at(cleanup.receiver);
  const std::uint64_t beat = pending_.next_beat();
  HandOverCommand command{cleanup.receiver,
                          cleanup.name,
                          cleanup.owner,
                          receiver.owner,
                          attempts_.lock_id(receiver, beat),
                          receiver.options.expiry,
                          receiver.options.clock_margin};
  cleanup.command =
      pending_.send({.kind = PendingCommand::Kind::hand_over, .cleanup = id, .beat = beat},
                    cleanup.timeout, std::move(command), step);
}

void ProviderCore::answer_hand_over(const PendingCommand& command, const Reply& reply, Step step) {
  const CleanupId id = command.cleanup;
  Cleanup& cleanup = cleanups_.at(id);
  cleanup.command = 0;
  const bool first_unknown = reply.outcome == Outcome::unknown && !cleanup.outcome_uncertain;
  cleanup.outcome_uncertain |= reply.outcome == Outcome::unknown;
  // The receiver may have given up while this was under way.
  const SessionId to = cleanup.receiver;
  // It gave up; nobody has the lock, and both owners have to go.
  if (to == 0) return cleanups_.send_delete(id, pending_, step);
  // An old primary, cut off before the giver won, finds nothing of what was written since.
  const bool nothing =
      reply.outcome == Outcome::done && reply.documents.empty() && !reply.is_before(cleanup.won);
  if (nothing) {
    const auto giver =
        cleanup.outcome_uncertain ? ReleaseResult::unknown : ReleaseResult::not_owner;
    return contend_for_itself(id, giver, cleanup.outcome_uncertain, step);
  }
  // As for an attempt: only the document with this very beat shows that this execution gave it.
  AcquireCall& receiver = attempts_.at(to);
  const bool given = reply.outcome == Outcome::done && !reply.documents.empty() && !reply.retried &&
                     reply.documents.front().lock_id == attempts_.lock_id(receiver, command.beat);
  if (given) {
    cleanups_.report(id, ReleaseResult::released, step);
    cleanups_.erase(id);
    receiver.phase = AcquireCall::Attempting{};  // nothing is handed over any more
    return win(to, command, reply, step);
  }
  // The receiver's end turns the hand-over into a delete of both owners.
  if (reply.outcome == Outcome::configuration || reply.permanent) {
    return end_call(to, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
  if (step.now >= cleanup.give_up_at) {
    return contend_for_itself(id, ReleaseResult::unknown, true, step);
  }
  // The first time at once: sent again it finds what it may have written.
  if (first_unknown) return send_hand_over(id, step);
  cleanups_.retry_later(id, step);
}

/// There was nothing to hand over, or nobody can tell: the receiver makes attempts of its own.
void ProviderCore::contend_for_itself(CleanupId id, ReleaseResult giver, bool unsure, Step step) {
  const SessionId to = cleanups_.at(id).receiver;
  cleanups_.report(id, giver, step);
  cleanups_.erase(id);
  // Its owner may be in the document after all; then its own attempt recognises it.
  AcquireCall& call = attempts_.at(to);
  call.contends_since = step.now;
  if (unsure) ++call.unanswered;
  attempts_.wait(to, step.now, pending_, step);
}

/// The hand-over to a call that ends becomes a deletion, of both owners.
void ProviderCore::stop_receiving(CleanupId id, Step step) {
  Cleanup& cleanup = cleanups_.at(id);
  cleanup.receiver = 0;
  if (cleanup.command != 0) return;  // its answer has the delete follow
  clear_timer(Timer::Kind::cleanup, id, step);
  cleanups_.send_delete(id, pending_, step);
}

/// A document of this process is gone for certain. Who waits here tries at once, unless another
/// process wants the lock too: then that one gets its turn, for a pause, and for no longer than
/// this process had the lock. Others with long pauses would leave it idle.
void ProviderCore::freed(const std::string& name, Step step) {
  const WaitQueue* queue = queues_.find(name);
  const AcquireCall* head = queue == nullptr ? nullptr : attempts_.find(queue->head);
  const auto* waiting = head == nullptr ? nullptr : head->in<AcquireCall::Waiting>();
  if (waiting == nullptr) return;
  const bool rival = queue->rival_seen && step.now - *queue->rival_seen < kRivalMemory;
  const auto turn = step.now + (rival ? queue->tenure : Duration(0));
  if (turn < waiting->attempt_at) attempts_.wait(queue->head, turn, pending_, step);
}

}  // namespace leasehold::core
