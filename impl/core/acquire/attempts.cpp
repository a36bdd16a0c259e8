#include "core/acquire/attempts.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/limits.hpp"

namespace leasehold::core {

/// The owner is drawn per call, so that two calls of one process never take each other's document
/// for their own.
void Attempts::add(const AcquireAsked& asked, Step step) {
  AcquireCall& call = calls_[asked.session];
  call.name = asked.name;
  call.options = asked.options;
  call.give_up_at = asked.give_up_at;
  call.single_attempt = asked.single_attempt;
  call.owner = owners_.draw(call.queues(), step);
  // This is for a call that contends at once; `contend` sets it again for one that was queued.
  call.contends_since = step.now;
  if (asked.give_up_at) set_timer(Timer::Kind::give_up, asked.session, *asked.give_up_at, step);
}

/// A caller that asks in a loop with a long timeout must not leave a timer behind for each call.
AcquireCall Attempts::take(SessionId id, SendingStep step) {
  auto taken = calls_.extract(id);
  LEASEHOLD_CHECK(!taken.empty());
  AcquireCall& call = taken.mapped();
  if (call.give_up_at) clear_timer(Timer::Kind::give_up, id, step);
  call_off(id, call, step);
  return std::move(call);
}

/// The attempt that it waits for, if it waits for one, is not due any more.
void Attempts::call_off(SessionId id, const AcquireCall& call, SendingStep step) {
  const auto* waiting = call.in<AcquireCall::Waiting>();
  if (waiting == nullptr) return;
  clear_timer(Timer::Kind::attempt, id, step);
  step.pending.leave_line({Timer::Kind::attempt, id}, waiting->attempt_at);
}

const AcquireCall* Attempts::find(SessionId id) const {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : &found->second;
}

std::vector<SessionId> Attempts::ids() const {
  std::vector<SessionId> all;
  for (const auto& [id, call] : calls_) all.push_back(id);
  return all;
}

/// A timer of an earlier plan finds a later time, or another phase. A call past its timeout sends
/// nothing more: its give_up timer, which is late, ends it without a trace.
void Attempts::due(SessionId id, SendingStep step) {
  const AcquireCall* call = find(id);
  const auto* waiting = call == nullptr ? nullptr : call->in<AcquireCall::Waiting>();
  if (waiting == nullptr || step.now < waiting->attempt_at || call->times_out(step.now)) return;
  start(id, step);
}

/// The attempt carries the lockId of a holder that is presumed dead: the server compares it inside
/// the write, so an extension in between still wins.
void Attempts::start(SessionId id, SendingStep step) {
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
  // A grant by the entry that this attempt leaves will count from now (see QueuePlace).
  if (call.queues()) {
    command.queues_for = entry_is_good_for(call, step.now);
    call.place.sent(attempt.beat, step.now);
  }
  call.phase = AcquireCall::Attempting{step.pending.send(
      std::move(attempt), call.options.effective_operation_timeout(), std::move(command), step)};
}

/// It waits as between two attempts, so that a call in line is like any other that waits: it can be
/// given the lock, and its end leaves nothing behind.
void Attempts::stand_in_line(SessionId id, SendingStep step) {
  AcquireCall& call = at(id);
  call.phase = AcquireCall::Waiting{step.now};
  step.pending.stand_in_line({Timer::Kind::attempt, id}, step.now);
  if (!call.single_attempt) return;
  // Its caller was promised an answer within one operation, in line and under way together.
  call.give_up_at = step.now + call.options.effective_operation_timeout();
  set_timer(Timer::Kind::give_up, id, *call.give_up_at, step);
}

/// At most one attempt timer per call is set: planning again replaces it, starting clears it.
void Attempts::plan(SessionId id, LocalInstant attempt_at, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.single_attempt);
  const bool timer_set = call.in<AcquireCall::Waiting>() != nullptr;
  call.phase = AcquireCall::Waiting{attempt_at};
  if (attempt_at > step.now) {
    return set_timer(Timer::Kind::attempt, id, attempt_at, step);
  }
  if (timer_set) clear_timer(Timer::Kind::attempt, id, step);
  start(id, step);
}

/// Only moves the attempt earlier: the planned time may be when the holder counts as dead.
void Attempts::bring_forward(SessionId id, LocalInstant at, SendingStep step) {
  const AcquireCall* call = find(id);
  const auto* waiting = call == nullptr ? nullptr : call->in<AcquireCall::Waiting>();
  if (waiting != nullptr && at < waiting->attempt_at) plan(id, at, step);
}

/// The call is then as after an answer: what becomes of it is being decided.
void Attempts::stop_waiting(SessionId id, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Waiting>());
  call_off(id, call, step);
  call.phase = AcquireCall::Attempting{};
}

/// From here on its owner may be in the document by another command than its own attempts.
const AcquireCall& Attempts::receive(SessionId id, CleanupId hand_over, int in_a_row,
                                     SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.single_attempt && call.can_receive());
  call_off(id, call, step);
  call.hand_overs = in_a_row;
  call.phase = AcquireCall::Receiving{hand_over};
  return call;
}

/// The attempt is sent at once, because no holder has refused the call and the lock may be free.
void Attempts::contend_for_itself(SessionId id, bool unclear, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Receiving>());
  call.contends_since = step.now;
  if (unclear) ++call.unanswered;
  start(id, step);
}

/// A new owner, because the delete may come late and the old one must not win again before it. What
/// requests of the old owner may still do is for the clean-up to undo.
void Attempts::start_over(SessionId id, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.single_attempt);
  call.owner = owners_.draw(call.queues(), step);
  call.unanswered = 0;
  call.place = {};
  start(id, step);
}

/// Compares the owner and the lockId of the attempt: any other content belongs to another call.
AttemptAnswer Attempts::read(SessionId id, const PendingCommand& attempt,
                             const Reply& reply) const {
  return read_answer(calls_.at(id), attempt.beat, holder_, reply);
}

/// The wait counts from here, not from the call: behind others of this process it learned nothing
/// of how long the lock takes to get.
void Attempts::contend(SessionId id, LocalInstant at_latest, bool stream_open, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Queued>());
  call.contends_since = step.now;
  plan(id, pacing_.first_attempt_at(call, at_latest, stream_open, step), step);
}

void Attempts::refused(SessionId id, const PendingCommand& attempt, const Reply& reply,
                       bool stream_open, SendingStep step) {
  AcquireCall& call = at(id);
  call.last_failure = {ErrorKind::refused, reply.code, "held by another"};
  // Learned before anything else changes: the strategy sees the call as it made the attempt.
  pacing_.learn(call, false, step.now);
  const bool queued = call.queues();
  if (!reply.documents.empty()) see_holder(call, reply, step);
  if (call.single_attempt) return;
  const bool joins = call.queues() && !queued;  // its next attempt leaves its entry
  // A duplicate key shows no holder, so whether the observed one still holds is unknown.
  const auto dead = reply.documents.empty() ? std::nullopt : pacing_.presumed_dead(call, step.now);
  const bool at_once = joins || (dead && dead != attempt.observed);
  plan(id, at_once ? step.now : pacing_.next_attempt_at(call, true, stream_open, step), step);
}

/// Notes the holder and when it was seen: for people, for the presumption of death, and for this
/// call's place in the queue.
void Attempts::see_holder(AcquireCall& call, const Reply& refusal, Step step) {
  const LockDocument& document = refusal.documents.front();
  call.last_failure.message = held_by(document);
  if (!document.corruption.empty() && !call.corruption_reported) {
    call.corruption_reported = true;
    step.out.push_back(Warned{"lock '" + call.name + "': " + call.last_failure.message +
                              "; it counts as held until it is deleted by hand"});
  }
  // After the warning: a corrupt document has no lockId of ours, and is forgotten here.
  pacing_.see_holder(call.name, document.lock_id, step.now);
  if (!document.queue.empty()) join_queue(call, step);
  if (call.queues()) call.place.shown(document, call.owner, refusal.operation_time, step.now);
}

/// Where others queue, a call that polls would find the lock free by luck alone. So it queues too,
/// whatever its strategy, and asks at least as often as that strategy would.
///
/// Its owner changes, because the owner of a call that queues begins with its provider's half. Not
/// while a document or a request of the old owner may be about.
void Attempts::join_queue(AcquireCall& call, Step step) {
  if (call.single_attempt || call.queues() || call.may_own()) return;
  const auto longest = call.options.waiting->longest_pause();
  call.options.waiting = queue_waiting(std::chrono::ceil<std::chrono::milliseconds>(longest));
  call.owner = owners_.draw(call.queues(), step);
}

/// As the strategy says, like a refusal: without an answer it is unknown whether the lock is free.
/// But the first attempt after a lost reply is sent at once, because it recognises its own win.
/// Only the first: a server that answers nothing is not asked ever faster.
void Attempts::failed(SessionId id, const Reply& reply, bool unanswered, bool stream_open,
                      SendingStep step) {
  AcquireCall& call = at(id);
  const auto kind = unanswered ? ErrorKind::unknown_outcome : ErrorKind::unavailable;
  call.last_failure = {kind, reply.code, reply.message};
  const bool at_once = unanswered && call.unanswered == 0;
  if (unanswered) ++call.unanswered;
  if (call.single_attempt) return;
  plan(id, at_once ? step.now : pacing_.next_attempt_at(call, false, stream_open, step), step);
}

/// Linear in the calls, like the next: asked once a reply of the stream, never once a lock.
bool Attempts::anyone_listens() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return entry.second.listens(); });
}

bool Attempts::anyone_stands() const {
  return std::any_of(calls_.begin(), calls_.end(), [](const auto& entry) {
    return entry.second.listens() && entry.second.place.stands();
  });
}

/// What tells apart two calls that have come to the same point: phase, and what they may have won.
void Attempts::mix_into(HashMixer& hash) const {
  for (const auto& [id, call] : calls_) {
    hash.mix(id << 3 | call.phase.index());
    hash.mix(static_cast<std::uint64_t>(call.unanswered));
    hash.mix(call.place.stands() ? call.place.before() + 1 : 0);
    if (const auto* attempting = call.in<AcquireCall::Attempting>()) hash.mix(attempting->command);
    if (const auto* waiting = call.in<AcquireCall::Waiting>()) hash.mix(waiting->attempt_at);
  }
}

}  // namespace leasehold::core
