#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/provider_core.hpp"

/// How an acquire call gets the lock, by an attempt or by a hand-over, and how it ends.
namespace leasehold::core {

/// Everything counts from the sending of the command that won.
HeldLock ProviderCore::held_lock(const AcquireCall& call, const Win& win) const {
  const LockOptions& options = call.options;
  HeldLock lock;
  lock.name = call.name;
  lock.options = options;
  lock.owner = call.owner;
  lock.token = win.at;
  lock.acquired_at = win.document.acquired_at;
  if (options.max_holding) lock.ends_at = win.sent + *options.max_holding;
  lock.deadline =
      std::min(lease_deadline(win.sent, options.expiry, options.max_drift), lock.ends_at);
  lock.extend_at = win.sent + options.effective_cadence();
  lock.late_commands = call.unanswered > 0;
  lock.hand_overs = win.by == Granted::By::hand_over ? call.hand_overs : 0;
  return lock;
}

/// What the answer means `Attempts::read` says, whatever follows from it elsewhere is here.
void ProviderCore::answer_attempt(const PendingCommand& attempt, const Reply& reply, Step step) {
  // After the first answer: a process that only waits needs no index, and a server that answers can
  // make it.
  if (reply.outcome == Outcome::done) index_.ensure(pending_, step);
  // The call that sent this attempt may have ended; then a cleanup waits for the answer.
  if (attempt.sessions.empty()) {
    const bool executed = reply.outcome == Outcome::done || reply.outcome == Outcome::unknown;
    const bool may_have_won = executed && !refuses(reply, cleanups_.at(attempt.cleanup).owner);
    return cleanups_.attempt_ended(attempt.cleanup, may_have_won, reply, pending_, step);
  }
  const SessionId id = attempt.sessions.front();
  attempts_.settle(id, attempt);
  const auto news = std::exchange(attempts_.at(id).place.news, std::nullopt);
  const auto answer = attempts_.read(id, attempt, reply);
  switch (answer) {
    case AttemptAnswer::won:
      return win(id,
                 {Granted::By::attempt, attempt.id, attempt.sent, reply.documents.front(),
                  reply.operation_time, attempt.observed.has_value()},
                 step);
    case AttemptAnswer::refused:
      refused(id, attempt, reply, step);
      return act_on_news(id, news, reply, step);
    case AttemptAnswer::unanswered:
    case AttemptAnswer::not_executed: {
      const bool unanswered = answer == AttemptAnswer::unanswered;
      const bool at_once = attempts_.learn_from_failure(id, reply, unanswered);
      const AcquireCall& call = attempts_.at(id);
      if (call.single_attempt) return end_call(id, call.last_failure, step);
      attempts_.wait_after_failure(id, at_once, hears(id), pending_, step);
      return act_on_news(id, news, reply, step);
    }
    // Its owner may have the document all the same: the end deletes it.
    case AttemptAnswer::permanent: ++attempts_.at(id).unanswered; [[fallthrough]];
    case AttemptAnswer::cannot_succeed:
      return end_call(id, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
}

/// INVARIANT: whoever received is the head of its queue already, so nobody else contends by this.
void ProviderCore::answer_hand_over(const PendingCommand& command, const Reply& reply, Step step) {
  // The receiver may have ended while this was under way: nobody has the lock.
  if (command.sessions.empty()) {
    return cleanups_.hand_over_ended(command.cleanup, reply.outcome, pending_, step);
  }
  const SessionId to = command.sessions.front();
  const auto answer = hand_overs_.answered(command, reply, pending_, step);
  switch (answer) {
    case HandOvers::Answer::given:
      attempts_.settle(to, command);
      return win(to,
                 {Granted::By::hand_over, command.id, command.sent, reply.documents.front(),
                  reply.operation_time},
                 step);
    case HandOvers::Answer::nothing:
    case HandOvers::Answer::unclear:
      // The giver has had its answer; from here on it is an attempt like any other.
      return attempts_.contend_for_itself(to, answer == HandOvers::Answer::unclear, pending_, step);
    // Its end takes the hand-over along, as a delete.
    case HandOvers::Answer::cannot_succeed:
      return end_call(to, {ErrorKind::configuration, reply.code, reply.message}, step);
    case HandOvers::Answer::waits: return;
  }
}

/// News that a rival holds it: for the strategy, for the queue's next release, and for the stream.
void ProviderCore::refused(SessionId id, const PendingCommand& attempt, const Reply& reply,
                           Step step) {
  const bool at_once = attempts_.learn_from_refusal(id, attempt, reply, step);
  const AcquireCall& call = attempts_.at(id);
  if (!reply.documents.empty()) queues_seen_.see(call.name, reply.documents.front(), step.now);
  if (WaitQueue* queue = queues_.headed_by(id, call.name)) queue->rival_seen = step.now;
  if (call.single_attempt) return end_call(id, call.last_failure, step);
  attempts_.wait_after_refusal(id, reply.operation_time, at_once, hears(id), pending_, step);
  // Who found no room in the queue has nothing to hear of.
  if (!call.wants_releases() && !call.place.stands()) return;
  // The stream is opened by the first call that was refused: who finds a lock free needs none.
  stream_.want(reports_for(call), step.now);
  // That looks at every call, so not for each refusal while somebody reads already.
  const auto turn = stream_.is_idle() ? attempts_.nearest_turn(step) : Duration(0);
  stream_.listen(turn, pending_, step);
}

/// The strategy's pace, the stream's lag, and whose turn it is in this process.
void ProviderCore::learn_from_attempt_that_won(SessionId id, bool observed, Step step) {
  const AcquireCall& call = attempts_.at(id);
  attempts_.learn_from_win(id, step);
  // A poll that wins without the stream having said so shows how far the stream lags.
  const bool news_expected = call.attempts > 1 && !call.woken && !observed && call.wants_releases();
  if (news_expected) stream_.expect(call.name, step.now);
}

/// REQUIRES: the document shows the lockId of that command's own execution, and a majority has it.
void ProviderCore::win(SessionId id, const Win& win, Step step) {
  AcquireCall& call = attempts_.at(id);
  if (win.at.value() <= win.document.fencing_token) {
    call.late_win = true;  // its end deletes the document, and with it the number
    return end_call(id,
                    {ErrorKind::configuration, 0,
                     "the fencing token " + win.at.to_string() + " of lock '" + call.name +
                         "' is not above the stored " + std::to_string(win.document.fencing_token)},
                    step);
  }
  // The same clock that ends the holding decides whether it begins at all.
  HeldLock lock = held_lock(call, win);
  if (step.now >= lock.deadline) return win_too_late(id, step);
  queues_seen_.see(call.name, win.document, step.now);
  if (win.by == Granted::By::attempt) learn_from_attempt_that_won(id, win.observed, step);
  // In a hand-over the tenure of this process goes on.
  WaitQueue* queue = queues_.headed_by(id, call.name);
  if (win.by != Granted::By::hand_over && queue != nullptr) queue->tenure_since = win.sent;
  step.out.push_back(Granted{id, lock.name, lock.token, lock.owner, win.document.lock_id,
                             win.command, win.by, win.sent, lock.deadline});
  held_.add(id, std::move(lock), step);
  // Last, for `call` is of it: the session is a held lock from here on and nothing else.
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
  if (call.queues()) remember_departed(call.name, call.owner, call.options, step);
  cleanups_.start(std::move(cleanup), pending_, step);
  // The delete may come late: this owner must not win again before it.
  attempts_.replace_owner(id, step);
  attempts_.wait(id, step.now, pending_, step);
}

/// A lock that is held or lost is not given up: that takes a release. A race of both does no harm.
void ProviderCore::give_up(SessionId id, ErrorKind kind, const std::string& why, Step step) {
  const AcquireCall* call = attempts_.find(id);
  if (call == nullptr) return;
  end_call(id, call->error(kind, why), step);
}

/// The caller hears of the end at once; what may have been won is cleaned up behind its back.
/// Whoever is next in the queue asks no later than this call would have.
void ProviderCore::end_call(SessionId id, Error error, Step step) {
  const AcquireCall call = attempts_.at(id);  // a copy: it is erased before what follows
  step.out.push_back(Ended{id, call.name, std::move(error)});
  attempts_.erase(id);
  if (call.queues()) remember_departed(call.name, call.owner, call.options, step);
  const auto* waiting = call.in<AcquireCall::Waiting>();
  const auto* attempting = call.in<AcquireCall::Attempting>();
  const auto* receiving = call.in<AcquireCall::Receiving>();
  if (call.give_up_at) clear_timer(Timer::Kind::give_up, id, step);
  if (waiting != nullptr) clear_timer(Timer::Kind::attempt, id, step);
  // What was to be handed over becomes a delete, of both owners.
  if (receiving != nullptr) {
    const CleanupId passing = receiving->hand_over;
    cleanups_.take_over(passing, hand_overs_.stop(passing, pending_), pending_, step);
  }
  if (attempting != nullptr && attempting->command != 0) {
    Cleanup cleanup = cleanup_of(call, step);
    cleanup.awaits_attempt = true;
    cleanup.outcome_uncertain = call.may_own();
    cleanup.command = attempting->command;
    // Its answer is still wanted: it says whether there is anything to delete.
    PendingCommand& attempt = pending_.at(attempting->command);
    attempt.sessions.clear();
    attempt.cleanup = cleanups_.add(std::move(cleanup), step);
  } else if (call.may_own() || call.place.stands()) {
    cleanups_.start(cleanup_of(call, step), pending_, step);
  }
  leave_queue(call.name, id, waiting != nullptr ? waiting->attempt_at : step.now, step);
}

}  // namespace leasehold::core
