#include <utility>

#include "core/acquire/attempt_answer.hpp"
#include "core/acquire/contenders.hpp"
#include "core/check.hpp"

/// The attempts of one call: when each is sent, and what the call learns from its answer.
namespace leasehold::core {

/// The attempt carries the lockId of a holder that is presumed dead: the server compares it inside
/// the write, so an extension in between still wins.
void Contenders::attempt(SessionId id, SendingStep step) {
  AcquireCall& call = at(id);
  const auto* before = call.in<AcquireCall::Attempting>();
  LEASEHOLD_CHECK(before == nullptr || before->command == 0);
  if (!step.pending.may_send()) return stand_in_line(id, step);
  ++call.attempts;
  PendingCommand attempt{.kind = PendingCommand::Kind::attempt,
                         .sessions = {id},
                         .beat = step.pending.next_beat(),
                         .observed = pacing_.presumed_dead(call, step.now)};
  AcquireCommand command{id,
                         call.name,
                         call.owner,
                         call.lock_id(attempt.beat, holder_),
                         attempt.observed,
                         call.options.expiry,
                         call.options.clock_margin};
  command.room = call.room;
  call.enlists = call.enlists || (call.queues() && pacing_.has_rival(call.name, step.now));
  // A grant by the entry that this attempt leaves will count from now (see QueuePlace).
  if (call.enlists) {
    command.queues_for = pacing_.entry_is_good_for(call, step.now);
    command.ticket = call.place.ticket();
    call.place.sent(attempt.beat, step.now);
  }
  call.phase = AcquireCall::Attempting{step.pending.send(
      std::move(attempt), call.options.effective_operation_timeout(), std::move(command), step)};
}

/// It waits as between two attempts, so that a call in line is like any other that waits: it can be
/// given the lock, and its end leaves nothing behind.
void Contenders::stand_in_line(SessionId id, SendingStep step) {
  AcquireCall& call = at(id);
  call.phase = AcquireCall::Waiting{step.now};
  step.pending.stand_in_line({Timer::Kind::attempt, id}, step.now);
  if (!call.single_attempt) return;
  // Its caller was promised an answer within one operation, in line and under way together.
  call.give_up_at = step.now + call.options.effective_operation_timeout();
  set_timer(Timer::Kind::give_up, id, *call.give_up_at, step);
}

/// At most one attempt timer per call is set: planning again replaces it, starting clears it.
void Contenders::plan(SessionId id, LocalInstant attempt_at, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.single_attempt);
  const bool timer_set = call.in<AcquireCall::Waiting>() != nullptr;
  call.phase = AcquireCall::Waiting{attempt_at};
  if (attempt_at > step.now) {
    return set_timer(Timer::Kind::attempt, id, attempt_at, step);
  }
  if (timer_set) clear_timer(Timer::Kind::attempt, id, step);
  attempt(id, step);
}

/// Only moves the attempt earlier: the planned time may be when the holder counts as dead.
void Contenders::bring_forward(SessionId id, LocalInstant at, SendingStep step) {
  const AcquireCall* call = find(id);
  const auto* waiting = call == nullptr ? nullptr : call->in<AcquireCall::Waiting>();
  if (waiting != nullptr && at < waiting->attempt_at) plan(id, at, step);
}

/// The call is then as after an answer: what becomes of it is being decided.
void Contenders::stop_waiting(SessionId id, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Waiting>());
  call_off(id, call, step);
  call.phase = AcquireCall::Attempting{};
}

/// The attempt that it waits for, if it waits for one, is not due any more.
void Contenders::call_off(SessionId id, const AcquireCall& call, SendingStep step) {
  const auto* waiting = call.in<AcquireCall::Waiting>();
  if (waiting == nullptr) return;
  clear_timer(Timer::Kind::attempt, id, step);
  step.pending.leave_line({Timer::Kind::attempt, id}, waiting->attempt_at);
}

/// Another holds the lock. The call keeps what that teaches, and its next attempt is planned: at
/// once if it is the one that enlists, or if that holder came to be presumed dead while this
/// attempt was under way. The first call that is queued opens the stream; a call that finds the
/// lock free needs none.
std::optional<Error> Contenders::refused(SessionId id, const PendingCommand& attempt,
                                         const Reply& reply, SendingStep step) {
  AcquireCall& call = at(id);
  call.last_failure = {ErrorKind::refused, reply.code, "held by another"};
  // Learned before anything else changes: the strategy sees the call as it made the attempt.
  pacing_.learn(call, false, step.now);
  const Room room = reply.documents.empty() ? Room() : see_holder(call, reply, step);
  if (call.room > 0 && room > 0 && room != call.room) {
    return Error{ErrorKind::configuration, 0,
                 "lock '" + call.name + "': others hold some of " + std::to_string(room) +
                     " permits, and this call is for one of " + std::to_string(call.room) +
                     ": all must give the same number"};
  }
  if (call.single_attempt) return std::nullopt;
  const bool joins = call.queues() && !std::exchange(call.enlists, call.queues());
  // A duplicate key shows no holder, so whether the observed one still holds is unknown.
  const auto dead = reply.documents.empty() ? std::nullopt : pacing_.presumed_dead(call, step.now);
  // The owners of calls that queue begin alike, with their provider's half (see Owners). A call
  // that found no room has nothing to be notified of.
  if (call.place.stands()) {
    const bool patient = call.place.unread_for(step.now) > Duration(0);
    const auto by = patient ? StreamCommand::Step::look : StreamCommand::Step::next;
    stream_.listen(call.owner.high, reply.operation_time, by, step);
  }
  const bool at_once = joins || (dead && dead != attempt.observed);
  const auto now = step.now;
  plan(id, at_once ? now : pacing_.next_attempt_at(call, true, stream_.reports(), step), step);
  if (WaitQueue* queue = queues_.headed_by(id, call.name)) queue->rival_seen = step.now;
  return std::nullopt;
}

/// Notes the holder and when it was seen: for people, for the presumption of death, and for this
/// call's place in the queue. Returns with whom the lock is shared.
Room Contenders::see_holder(AcquireCall& call, const Reply& refusal, Step step) {
  const LockDocument& document = refusal.documents.front();
  call.last_failure.message = held_by(document, call.room);
  const Room room = room_of(document.lock_id);
  if (!document.corruption.empty() && !call.corruption_reported) {
    call.corruption_reported = true;
    step.out.push_back(Warned{"lock '" + call.name + "': " + call.last_failure.message +
                              "; it counts as held until it is deleted by hand"});
  }
  // After the warning: a corrupt document has no lockId of ours, and is forgotten here.
  pacing_.see_holder(call.name, document.lock_id, step.now);
  if (room != 0 || !document.queue.empty()) join_queue(call, step);
  if (call.queues()) call.place.shown(refusal, call.owner, step.now);
  return room;
}

/// Where others queue, a call that polls would find the lock free by luck alone, and where others
/// read, new readers would come for ever. So it queues too, whatever its strategy, and asks at
/// least as often as that strategy would.
///
/// Its owner changes, because the owner of a call that queues begins with its provider's half. Not
/// while a document or a request of the old owner may be about.
void Contenders::join_queue(AcquireCall& call, Step step) {
  if (call.single_attempt || call.queues() || call.may_own()) return;
  const auto longest = call.options.waiting->longest_pause();
  call.options.waiting = queue_waiting(std::chrono::ceil<std::chrono::milliseconds>(longest));
  call.owner = owners_.draw(call.queues(), step);
}

/// As the strategy says, like a refusal: without an answer it is unknown whether the lock is free.
/// But the first attempt after a lost reply is sent at once, because it recognises its own win.
/// Only the first: a server that answers nothing is not asked ever faster.
void Contenders::failed(SessionId id, const Reply& reply, bool unanswered, SendingStep step) {
  AcquireCall& call = at(id);
  const auto kind = unanswered ? ErrorKind::unknown_outcome : ErrorKind::unavailable;
  call.last_failure = {kind, reply.code, reply.message};
  const bool at_once = unanswered && call.unanswered == 0;
  if (unanswered) ++call.unanswered;
  if (call.single_attempt) return;
  const auto now = step.now;
  plan(id, at_once ? now : pacing_.next_attempt_at(call, false, stream_.reports(), step), step);
}

}  // namespace leasehold::core
