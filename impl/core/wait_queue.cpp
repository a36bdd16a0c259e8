#include <algorithm>

#include "core/check.hpp"
#include "core/limits.hpp"
#include "core/provider_core.hpp"

/// The queue of each name inside this process, and how a lock passes along it.
namespace leasehold::core {

/// Whether it is its turn at once.
bool ProviderCore::join_queue(SessionId id, Session& session) {
  WaitQueue& queue = wait_queues_[session.name];
  if (queue.head == 0) {
    queue.head = id;
    return true;
  }
  session.phase = Session::Phase::queued;
  queue.waiters.push_back(id);
  return false;
}

/// The line that this session is the first of; null: none, as for a single attempt.
ProviderCore::WaitQueue* ProviderCore::queue_headed_by(SessionId id, const Session& session) {
  const auto found = wait_queues_.find(session.name);
  return found != wait_queues_.end() && found->second.head == id ? &found->second : nullptr;
}

/// Whoever was behind contends from now on, with a first attempt at that time at the latest.
void ProviderCore::leave_queue(const std::string& name, SessionId id, LocalInstant at_latest,
                               Step step) {
  const auto found = wait_queues_.find(name);
  if (found == wait_queues_.end()) return;
  WaitQueue& queue = found->second;
  if (queue.head == id) {
    queue.head = 0;
  } else {
    std::erase(queue.waiters, id);
  }
  if (queue.head != 0) return;
  if (queue.waiters.empty()) {
    wait_queues_.erase(found);
    return;
  }
  if (closed_) return;  // nobody comes after; those behind are about to end
  queue.head = queue.waiters.front();
  queue.waiters.pop_front();
  Session& next = sessions_.at(queue.head);
  next.contends_since = step.now;
  wait(queue.head, first_attempt_of_next(next, at_latest, step), step);
}

/// It keeps the pace of who left: those who give up do not make the others ask more often. But what
/// is left of that pause was another call's, maybe a minute: its own strategy may be quicker, and
/// it must not end unasked, for the lock may be free. Half of its time is left for the reply.
LocalInstant ProviderCore::first_attempt_of_next(Session& next, LocalInstant at_latest,
                                                 Step step) const {
  if (at_latest <= step.now) return at_latest;
  const auto at = std::min(at_latest, next_attempt_at(next, true, step));
  return next.give_up_at ? std::min(at, step.now + (*next.give_up_at - step.now) / 2) : at;
}

/// A release without hand-over ends the row of holdings of this process.
void ProviderCore::end_tenure(SessionId id, const Session& session, Step step) {
  if (WaitQueue* queue = queue_headed_by(id, session))
    queue->tenure = step.now - queue->tenure_since;
}

/// Who gets the lock that this session holds when it releases now; 0: nobody of this process.
SessionId ProviderCore::receiver_after(SessionId id, const Session& session) const {
  const auto found = wait_queues_.find(session.name);
  if (found == wait_queues_.end() || closed_ || session.phase != Session::Phase::held) return 0;
  // After an attempt that was never answered the owner has to be deleted, and once more.
  if (session.unanswered > 0) return 0;
  if (session.handed_on >= session.options.hand_overs_in_a_row) return 0;
  const WaitQueue& queue = found->second;
  if (queue.head == id) return queue.waiters.empty() ? 0 : queue.waiters.front();
  // A single attempt won past the line: its first may be between two attempts.
  const bool waits = sessions_.at(queue.head).phase == Session::Phase::waiting;
  return waits ? queue.head : 0;
}

/// The old handle has ended: the lock goes from its owner to the receiver's in one command.
void ProviderCore::hand_over(Cleanup cleanup, SessionId to, int in_a_row, Step step) {
  WaitQueue& queue = wait_queues_.at(cleanup.name);
  if (queue.head != to) {
    queue.head = to;
    queue.waiters.pop_front();
  }
  Session& receiver = sessions_.at(to);
  if (receiver.phase == Session::Phase::waiting) clear_timer(Timer::Kind::attempt, to, step);
  receiver.phase = Session::Phase::receiving;
  receiver.handed_on = in_a_row;
  cleanup.or_owner = receiver.owner;
  cleanup.receiver = to;
  cleanup.timeout = std::min(cleanup.timeout, receiver.options.effective_operation_timeout());
  receiver.hand_over = start_cleanup(std::move(cleanup), step);
}

void ProviderCore::send_hand_over(CleanupId id, Cleanup& cleanup, Step step) {
  LEASEHOLD_CHECK(cleanup.command == 0);
  const Session& receiver = sessions_.at(cleanup.receiver);
  const std::uint64_t beat = ++last_beat_;
  HandOverCommand command{cleanup.receiver,
                          cleanup.name,
                          cleanup.owner,
                          receiver.owner,
                          lock_id(receiver, beat),
                          receiver.options.expiry,
                          receiver.options.clock_margin};
  cleanup.command = send({.kind = PendingCommand::Kind::hand_over, .cleanup = id, .beat = beat},
                         cleanup.timeout, std::move(command), step);
}

void ProviderCore::answer_hand_over(const PendingCommand& pending, const Reply& reply, Step step) {
  const CleanupId id = pending.cleanup;
  Cleanup& cleanup = cleanups_.at(id);
  cleanup.command = 0;
  const bool first_unknown = reply.outcome == Outcome::unknown && !cleanup.outcome_uncertain;
  cleanup.outcome_uncertain |= reply.outcome == Outcome::unknown;
  // An old primary, cut off before the giver won, finds nothing of what was written since.
  const bool nothing =
      reply.outcome == Outcome::done && reply.documents.empty() && !reply.is_before(cleanup.won);
  if (cleanup.receiver == 0) {  // it gave up; nobody has the lock, and both owners have to go
    return send_delete(id, cleanup, step);
  }
  if (nothing) {
    const auto giver =
        cleanup.outcome_uncertain ? ReleaseResult::unknown : ReleaseResult::not_owner;
    return contend_for_itself(id, giver, cleanup.outcome_uncertain, step);
  }
  const SessionId to = cleanup.receiver;
  const bool given = reply.outcome == Outcome::done && !reply.documents.empty() && !reply.retried &&
                     reply.documents.front().lock_id == lock_id(sessions_.at(to), pending.beat);
  if (given) {
    report(id, ReleaseResult::released, step);
    cleanups_.erase(id);
    sessions_.at(to).phase = Session::Phase::attempting;  // nothing is handed over any more
    return win(to, pending, reply, step);
  }
  if (reply.outcome == Outcome::configuration || reply.permanent) {
    return end_acquire(to, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
  if (step.now >= cleanup.give_up_at) {
    return contend_for_itself(id, ReleaseResult::unknown, true, step);
  }
  // The first time at once: sent again it finds what it may have written.
  if (first_unknown) return send_hand_over(id, cleanup, step);
  pause_cleanup(id, cleanup, pause_after_failure(cleanup, step.now), step);
}

/// There was nothing to hand over, or nobody can tell: the receiver makes attempts of its own.
void ProviderCore::contend_for_itself(CleanupId id, ReleaseResult giver, bool unsure, Step step) {
  const SessionId to = cleanups_.at(id).receiver;
  report(id, giver, step);
  cleanups_.erase(id);
  Session& session = sessions_.at(to);
  session.contends_since = step.now;
  if (unsure) ++session.unanswered;
  wait(to, step.now, step);
}

/// A document of this process is gone for certain. Who waits here tries at once, unless another
/// process wants the lock too: then that one gets its turn, for a pause, and for no longer than
/// this process had the lock. Others with long pauses would leave it idle.
void ProviderCore::freed(const std::string& name, Step step) {
  const auto found = wait_queues_.find(name);
  if (found == wait_queues_.end() || found->second.head == 0) return;
  const WaitQueue& queue = found->second;
  const Session& head = sessions_.at(queue.head);
  if (head.phase != Session::Phase::waiting) return;
  const bool rival = queue.rival_seen && step.now - *queue.rival_seen < kRivalMemory;
  const auto turn = step.now + (rival ? queue.tenure : Duration(0));
  if (turn < head.attempt_at) wait(queue.head, turn, step);
}

}  // namespace leasehold::core
