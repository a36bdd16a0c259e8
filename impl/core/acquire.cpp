#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/provider_core.hpp"

/// What the answer to an attempt brings about, and the end of an acquire call.
namespace leasehold::core {
namespace {

constexpr std::chrono::seconds kIndexTimeout{10};
constexpr int kIndexTries = 5;

/// Any beat of this owner is ours: the document may show an earlier attempt that won unanswered.
bool owned_by(const LockDocument& document, Owner owner) {
  return document.lock_id.starts_with(to_hex(owner) + '.');
}

Error failure(const Reply& reply, bool unknown) {
  return {unknown ? ErrorKind::unknown_outcome : ErrorKind::unavailable, reply.code, reply.message};
}

/// What an ended call may have won has to go.
Cleanup cleanup_of(const AcquireCall& call, Step step) {
  Cleanup cleanup = cleanup_of(call.name, call.owner, call.options, step.now);
  cleanup.resend = call.may_own();
  return cleanup;
}

/// Everything counts from the sending of the command that won.
HeldLock held_lock(const AcquireCall& call, const PendingCommand& command, const Reply& reply) {
  const LockOptions& options = call.options;
  HeldLock lock;
  lock.name = call.name;
  lock.options = options;
  lock.owner = call.owner;
  lock.token = reply.operation_time;
  lock.acquired_at = reply.documents.front().acquired_at;
  if (options.max_holding) lock.ends_at = command.sent + *options.max_holding;
  lock.deadline =
      std::min(lease_deadline(command.sent, options.expiry, options.max_drift), lock.ends_at);
  lock.extend_at = command.sent + options.effective_cadence();
  lock.late_commands = call.unanswered > 0;
  lock.hand_overs = command.kind == PendingCommand::Kind::attempt ? 0 : call.hand_overs;
  return lock;
}

}  // namespace

/// The order of the questions matters: a refusal is certain whatever else the reply says; only then
/// comes what cannot succeed, what was not executed, and last whether this very execution won.
void ProviderCore::answer_attempt(const PendingCommand& attempt, const Reply& reply, Step step) {
  if (reply.outcome == Outcome::done) ensure_index(step);
  const bool executed = reply.outcome == Outcome::done || reply.outcome == Outcome::unknown;
  const LockDocument* document =
      executed && !reply.documents.empty() ? &reply.documents.front() : nullptr;
  // The call that sent this attempt may have ended; then a cleanup waits for the answer.
  const bool has_call = !attempt.sessions.empty();
  const Owner owner =
      has_call ? attempts_.at(attempt.sessions.front()).owner : cleanups_.at(attempt.cleanup).owner;
  // Another's lockId means refused, whatever the write concern says: the attempt wrote nothing.
  const bool is_refused = reply.outcome == Outcome::duplicate_key ||
                          (document != nullptr && !owned_by(*document, owner));
  if (!has_call) {
    return cleanups_.attempt_ended(attempt.cleanup, executed && !is_refused, reply.outcome,
                                   pending_, step);
  }
  const SessionId id = attempt.sessions.front();
  AcquireCall& call = attempts_.at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Attempting>());
  call.phase = AcquireCall::Attempting{};
  if (is_refused) return refused(id, attempt, reply, step);
  if (reply.outcome == Outcome::configuration) {
    return end_call(id, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
  if (reply.outcome == Outcome::not_executed) return failed(id, reply, false, step);
  // The beat in the lockId names this execution. A document of an earlier beat is ours too, but its
  // time is not in this reply: the next attempt, sent at once, gets a token of its own.
  const bool ours_now = reply.outcome == Outcome::done && document != nullptr && !reply.retried &&
                        document->lock_id == attempts_.lock_id(call, attempt.beat);
  // It may have been executed all the same: what it may have won is deleted.
  if (!ours_now && reply.permanent) {
    ++call.unanswered;
    return end_call(id, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
  if (!ours_now) return failed(id, reply, true, step);
  win(id, attempt, reply, step);
}

void ProviderCore::refused(SessionId id, const PendingCommand& attempt, const Reply& reply,
                           Step step) {
  const bool told = stream_.is_open();
  const bool at_once = attempts_.learn_from_refusal(id, attempt, reply, told, step);
  const AcquireCall& call = attempts_.at(id);
  if (WaitQueue* queue = queues_.headed_by(id, call.name)) queue->rival_seen = step.now;
  if (call.single_attempt) return end_call(id, call.last_failure, step);
  attempts_.wait_after_refusal(id, reply.operation_time, at_once, told, pending_, step);
  if (!call.options.waiting->wants_stream()) return;
  // The stream is opened by the first call that was refused: who finds a lock free needs none.
  stream_.want(step.now);
  if (closed_) return;
  // That looks at every queue, so not for each refusal while somebody reads already.
  const auto turn = stream_.is_idle() ? nearest_turn(step) : Duration(0);
  stream_.listen(turn, pending_, step);
}

void ProviderCore::failed(SessionId id, const Reply& reply, bool unknown, Step step) {
  AcquireCall& call = attempts_.at(id);
  const bool first_unknown = unknown && call.unanswered == 0;
  if (unknown) ++call.unanswered;
  call.last_failure = failure(reply, unknown);
  if (call.single_attempt) return end_call(id, call.last_failure, step);
  // The first retry after a lost reply is immediate: it recognises its own win.
  attempts_.wait_after_failure(id, first_unknown, stream_.is_open(), pending_, step);
}

/// By an attempt, or by a hand-over.
/// REQUIRES: the reply shows the lockId of this command's own execution.
void ProviderCore::win(SessionId id, const PendingCommand& command, const Reply& reply, Step step) {
  AcquireCall& call = attempts_.at(id);
  const LockDocument& document = reply.documents.front();
  if (reply.operation_time.value() <= document.fencing_token) {
    call.late_win = true;  // its end deletes the document, and with it the number
    return end_call(
        id,
        {ErrorKind::configuration, 0,
         "the fencing token " + reply.operation_time.to_string() + " of lock '" + call.name +
             "' is not above the stored " + std::to_string(document.fencing_token)},
        step);
  }
  // The same clock that ends the holding decides whether it begins at all.
  HeldLock lock = held_lock(call, command, reply);
  if (step.now >= lock.deadline) return win_too_late(id, step);
  if (command.kind == PendingCommand::Kind::attempt) {
    WaitQueue* queue = queues_.headed_by(id, call.name);
    if (queue != nullptr) queue->tenure_since = command.sent;
    attempts_.learn_from_win(id, stream_.is_open(), step);
    // A poll that wins without the stream having said so shows how far the stream lags.
    const bool news_expected = call.attempts > 1 && !call.woken && !command.observed &&
                               call.options.waiting->wants_stream();
    if (news_expected) stream_.expect(call.name, step.now);
  }
  step.out.push_back(Granted{id, lock.token, lock.owner, command.sent, lock.deadline});
  held_.add(id, std::move(lock), step);
  if (call.give_up_at) clear_timer(Timer::Kind::give_up, id, step);
  attempts_.erase(id);
}

/// What was won is over before anybody could use it: it is given back, by its owner.
void ProviderCore::win_too_late(SessionId id, Step step) {
  AcquireCall& call = attempts_.at(id);
  if (call.single_attempt) {
    call.late_win = true;
    return end_call(
        id, {ErrorKind::timed_out, 0, "lock '" + call.name + "': the grant came after its end"},
        step);
  }
  Cleanup cleanup = cleanup_of(call, step);
  cleanup.resend = true;
  cleanups_.start(std::move(cleanup), pending_, step);
  attempts_.replace_owner(id, step);
  attempts_.wait(id, step.now, pending_, step);
}

/// A lock that is held or lost is not given up: that takes a release. A race of both does no harm.
void ProviderCore::give_up(SessionId id, ErrorKind kind, const std::string& why, Step step) {
  const AcquireCall* call = attempts_.find(id);
  if (call == nullptr) return;
  std::string message = "lock '" + call->name + "': " + why;
  if (!call->last_failure.message.empty()) {
    message += "; last attempt: " + call->last_failure.message;
  }
  end_call(id, {kind, call->last_failure.code, std::move(message)}, step);
}

/// The caller hears of the end at once; what may have been won is cleaned up behind its back.
void ProviderCore::end_call(SessionId id, Error error, Step step) {
  step.out.push_back(Ended{id, std::move(error)});
  const AcquireCall call = attempts_.at(id);
  attempts_.erase(id);
  const auto* waiting = call.in<AcquireCall::Waiting>();
  const auto* attempting = call.in<AcquireCall::Attempting>();
  const auto* receiving = call.in<AcquireCall::Receiving>();
  if (call.give_up_at) clear_timer(Timer::Kind::give_up, id, step);
  if (waiting != nullptr) clear_timer(Timer::Kind::attempt, id, step);
  if (receiving != nullptr) stop_receiving(receiving->hand_over, step);
  if (attempting != nullptr && attempting->command != 0) {
    Cleanup cleanup = cleanup_of(call, step);
    cleanup.awaits_attempt = true;
    cleanup.outcome_uncertain = call.may_own();
    cleanup.command = attempting->command;
    // Its answer is still wanted: it says whether there is anything to delete.
    PendingCommand& attempt = pending_.at(attempting->command);
    attempt.sessions.clear();
    attempt.cleanup = cleanups_.add(std::move(cleanup), step);
  } else if (call.may_own()) {
    cleanups_.start(cleanup_of(call, step), pending_, step);
  }
  leave_queue(call.name, id, waiting != nullptr ? waiting->attempt_at : step.now, step);
}

/// Whoever becomes the head by that contends, with a first attempt at that time at the latest.
void ProviderCore::leave_queue(const std::string& name, SessionId id, LocalInstant at_latest,
                               Step step) {
  const SessionId next = queues_.leave(name, id, !closed_);
  if (next != 0) attempts_.contend(next, at_latest, stream_.is_open(), pending_, step);
}

/// Once per provider, after the first answer: a process that only waits needs none, and a server
/// that answers can make it. It never delays a lock.
void ProviderCore::ensure_index(Step step) {
  if (index_ != Index::wanted) return;
  index_ = Index::asked;
  ++index_tries_;
  pending_.send({.kind = PendingCommand::Kind::index}, kIndexTimeout, EnsureIndexCommand{}, step);
}

void ProviderCore::answer_index(const Reply& reply, Step step) {
  const bool try_again =
      (reply.outcome == Outcome::unknown || reply.outcome == Outcome::not_executed) &&
      index_tries_ < kIndexTries;
  index_ = try_again ? Index::wanted : Index::settled;
  if (!try_again && !reply.message.empty()) {
    step.out.push_back(Warned{"TTL index: " + reply.message});
  }
}

}  // namespace leasehold::core
