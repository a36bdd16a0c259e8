#include "core/provider_core.hpp"

#include <utility>

#include "core/acquire/attempt_answer.hpp"
#include "core/check.hpp"

namespace leasehold::core {

/// One event is carried to its end before the next: between two of them every invariant holds.
void ProviderCore::next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out) {
  const SendingStep step{{now, entropy, out}, pending_};
  pending_.put_others_first(congested_);
  std::visit([&](const auto& e) { on(e, step); }, event);
  pending_.put_others_first(false);
  send_what_waits(step);
  const bool congested = held_.is_behind() || pending_.anyone_waits();
  if (congested != congested_) out.push_back(Congested{congested});
  congested_ = congested;
}

/// A departure may go between two commands of extensions, because only releases reduce the number
/// of extensions.
void ProviderCore::send_what_waits(SendingStep step) {
  while (pending_.may_send()) {
    const bool behind = held_.is_behind();
    if (behind && !extended_last_) {
      extended_last_ = true;
      extend_due(step);
      continue;
    }
    extended_last_ = false;
    const auto next = pending_.next_in_line(!behind);
    if (!next && !behind) return;
    if (!next) continue;
    if (next->kind == Timer::Kind::attempt) contenders_.due(*next, step);
    if (next->kind == Timer::Kind::departure) departures_.due(next->id, true, step);
  }
}

/// A lock that is over is lost first, or the round would extend it.
void ProviderCore::extend_due(SendingStep step) {
  if (!held_.is_behind()) {
    for (const auto over : held_.over(step.now)) lose(over, LostReason::deadline, step);
  }
  held_.run_round(step);
}

/// The caller chooses the number of its session, and chooses no number twice while it is in use, or
/// another session shares what it won. A reader that comes soon after another of this process
/// shares its entry; a downgrade does not, because others may have written before that entry.
void ProviderCore::on(const AcquireAsked& event, SendingStep step) {
  LEASEHOLD_CHECK(!contenders_.find(event.session) && !held_.find(event.session) &&
                  held_.lock_of(event.session) == 0);
  const bool shares = event.room == kReaders && event.downgraded == 0;
  const HeldLock* entry = shares ? held_.find(contenders_.reader_of(event.name)) : nullptr;
  if (entry != nullptr && step.now < entry->won_at + kSharedFor &&
      entry->may_be_shared_by(event.options, step.now)) {
    return held_.share(entry->won_by, event.session, step);
  }
  contenders_.add(event, step);
  if (event.downgraded == 0 || !contenders_.find(event.session)) return;
  HeldLock* held = held_.find(event.downgraded);
  if (held == nullptr || held->room != 0 || held->name != event.name) {
    return end_call(event.session, contenders_.at(event.session).not_held(), step);
  }
  held->downgrade = event.session;
}

/// A session that has won already keeps the lock: the caller finds it and may release.
void ProviderCore::on(const CancelAsked& event, SendingStep step) {
  give_up(event.session, ErrorKind::cancelled, "cancelled", step);
}

/// Held or lost, the handle has ended: it answers no from before this event on. The lock goes to a
/// call that waits here, by a hand-over, or to any process. What several sessions share stays until
/// the last of them releases it.
void ProviderCore::on(const ReleaseAsked& event, SendingStep step) {
  // Before anything is sent: this process must not hold what the server may give to another.
  const auto lock = held_.take(event.session, step);
  if (!lock) return;
  SessionId next =
      lock->may_be_handed_over() ? contenders_.receiver_after(lock->won_by, lock->name) : 0;
  if (const auto* reader = contenders_.find(lock->downgrade)) {
    if (lock->lost) end_call(lock->downgrade, reader->not_held(), step);
    next = lock->lost ? 0 : lock->downgrade;
  }
  if (next != 0) {
    const DepartureId id = departures_.new_id();
    const AcquireCall& receiver = contenders_.receive(next, id, lock->hand_overs + 1, step);
    return departures_.hand_over(id, *lock, event.session, next, receiver, step);
  }
  // Where others queue, the calls that wait here join them at once; otherwise once it is free.
  const bool queued = departures_.passes_on(lock->name, step.now);
  contenders_.released(lock->won_by, lock->name, queued ? step.now : LocalInstant::max(), step);
  departures_.release(*lock, event.session, step);
}

/// As if the timer had fired, which may be late: held() has answered no, and that is final.
void ProviderCore::on(const DeadlineSeen& event, SendingStep step) {
  lose(held_.lock_of(event.session), LostReason::deadline, step);
}

/// As if the round's timer had fired.
void ProviderCore::on(const ExtendAsked& event, SendingStep step) {
  if (held_.make_due(held_.lock_of(event.session), step.now)) extend_due(step);
}

/// Locks that are held stay held: their handles outlive the provider.
void ProviderCore::on(const CloseAsked&, SendingStep step) {
  for (const auto id : contenders_.close(step)) {
    give_up(id, ErrorKind::shut_down, "the provider was destroyed", step);
  }
}

void ProviderCore::on(const ReplyArrived& event, SendingStep step) {
  if (pending_.contains(event.command)) pending_.heard();
  answered(event.command, event.reply, step);
}

/// INVARIANT: an answer is used once. A second one, and one after its timeout, find no command.
void ProviderCore::answered(CommandId id, const Reply& reply, SendingStep step) {
  const auto command = pending_.take(id, step);
  if (!command) return;
  const auto lose_all = [&](const std::vector<HeldLocks::Loss>& losses) {
    for (const auto& [session, reason] : losses) lose(session, reason, step);
    held_.arm_round_of(command->sessions, step);
  };
  switch (command->kind) {
    case PendingCommand::Kind::attempt: return answer_attempt(*command, reply, step);
    case PendingCommand::Kind::extension:
      return lose_all(held_.extension_answered(*command, reply, step));
    case PendingCommand::Kind::read_holders:
      return lose_all(held_.read_holders_answered(*command, reply, step));
    // The calls that wait here are notified of a lock that has become free.
    case PendingCommand::Kind::departure:
      if (const auto freed = departures_.answered_delete(*command, reply, step)) {
        contenders_.lock_freed(*freed, step);
      }
      return;
    case PendingCommand::Kind::hand_over: return answer_hand_over(*command, reply, step);
    case PendingCommand::Kind::index: return index_.answered(reply, step);
    case PendingCommand::Kind::stream: return answer_stream(id, reply, step);
  }
}

/// Each part says whether the timer is of use: it may fire early, twice, or too late.
void ProviderCore::on(const TimerFired& event, SendingStep step) {
  const auto id = event.timer.id;
  switch (event.timer.kind) {
    case Timer::Kind::attempt:
    case Timer::Kind::stream: return contenders_.due(event.timer, step);
    case Timer::Kind::give_up: return time_is_over(id, step);
    case Timer::Kind::lease_end:
      if (held_.lease_ends(id, step)) lose(id, LostReason::deadline, step);
      return;
    // As if an answer had come that says nothing; a late real one finds no command any more.
    case Timer::Kind::command_timeout:
      if (!pending_.contains(id)) return;
      pending_.not_heard();
      step.out.push_back(Abandon{id});
      return answered(id, {.message = "no reply within the operation timeout"}, step);
    case Timer::Kind::extension_round:
      if (held_.round_begins(step.now)) extend_due(step);
      return;
    case Timer::Kind::departure: return departures_.due(id, false, step);
    case Timer::Kind::report: return departures_.report_unknown(id, step);
  }
}

/// The timer may be early, or of a call before. A single attempt has one only if it waited in line.
void ProviderCore::time_is_over(SessionId id, SendingStep step) {
  const AcquireCall* call = contenders_.find(id);
  if (call == nullptr || !call->times_out(step.now)) return;
  if (!call->single_attempt) return give_up(id, ErrorKind::timed_out, "timed out", step);
  if (!call->in<AcquireCall::Waiting>()) {
    return give_up(id, ErrorKind::unknown_outcome, "no reply within the operation timeout", step);
  }
  give_up(id, ErrorKind::unavailable,
          "not sent within the operation timeout: other commands were before it", step);
}

/// Contenders decides what it means for the call.
void ProviderCore::answer_attempt(const PendingCommand& attempt, const Reply& reply,
                                  SendingStep step) {
  // The call that sent this attempt may have ended; then a departure waits for the answer.
  if (attempt.sessions.empty()) {
    return departures_.answered_attempt(attempt.departure, reply, step);
  }
  const SessionId id = attempt.sessions.front();
  const AcquireCall& call = contenders_.at(id);
  // The document of another holder shows its queue, which decides how this process will release.
  if (refuses(reply, call.owner) && !reply.documents.empty()) {
    departures_.see(call.name, reply.documents.front(), step.now);
  }
  conclude(id, contenders_.answered(id, attempt, reply, step), step);
}

/// INVARIANT: the receiver is the head of its queue already, so no other call contends by this.
void ProviderCore::answer_hand_over(const PendingCommand& command, const Reply& reply,
                                    SendingStep step) {
  const auto answer = departures_.answered_hand_over(command, reply, step);
  if (!answer) return;
  const SessionId to = command.sessions.front();
  switch (*answer) {
    case Departures::HandedOver::given:
      contenders_.at(to).settle(command);
      return win(to,
                 {Granted::By::hand_over, command.id, command.sent, reply.documents.front(),
                  reply.operation_time},
                 step);
    case Departures::HandedOver::nothing:
    case Departures::HandedOver::unclear: {
      const bool unclear = *answer == Departures::HandedOver::unclear;
      return conclude(to, contenders_.contend_for_itself(to, unclear, step), step);
    }
    // Its end takes the hand-over along, as a delete.
    case Departures::HandedOver::cannot_succeed:
      return end_call(to, {ErrorKind::configuration, reply.code, reply.message}, step);
    case Departures::HandedOver::waits: return;
  }
}

/// A named owner is that of a call that waits, or one that has departed and may be granted the lock
/// nevertheless. Most are neither: the provider's own writes, of locks that it holds or held.
void ProviderCore::answer_stream(CommandId command, const Reply& reply, SendingStep step) {
  const auto heard = contenders_.stream_answered(command, reply, step);
  if (heard == ChangeStream::Heard::nothing) return;
  for (const auto& named : reply.named) {
    const auto parts = parse_lock_id(named.document.lock_id);
    if (!parts) continue;
    const SessionId id = contenders_.head_with(parts->owner, named.document.name);
    if (id != 0) {
      conclude(id, contenders_.notify(id, named, command, step), step);
    } else {
      departures_.granted(named, parts->owner, step);
    }
  }
  contenders_.read_on(heard, step);
}

/// A call that goes on is for Contenders alone.
void ProviderCore::conclude(SessionId id, const CallResult& result, SendingStep step) {
  if (const auto* won = std::get_if<Win>(&result)) return win(id, *won, step);
  if (const auto* error = std::get_if<Error>(&result)) end_call(id, *error, step);
}

/// A call becomes a held lock. REQUIRES: the document shows the lockId of that command's own
/// execution, and a majority has it.
void ProviderCore::win(SessionId id, const Win& win, SendingStep step) {
  AcquireCall& call = contenders_.at(id);
  if (!win.token_rises()) {
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
  departures_.see(call.name, win.document, step.now);
  step.out.push_back(Granted{id, lock.name, lock.token, lock.owner, win.document.lock_id,
                             win.command, win.by, win.sent, lock.deadline, lock.room, lock.slot});
  held_.add(id, std::move(lock), step);
  // The process that a lock is passed on from has asked for the index, or the one before it.
  if (win.by == Granted::By::attempt) index_.ensure(step);
  // Last, for `call` is of it: the session is a held lock from here on and nothing else.
  contenders_.won(id, win, step);
  if (held_.find(id)->room != 0) share_with_those_behind(id, step);
}

/// They waited for this lock before it was won, however long ago that was asked for.
void ProviderCore::share_with_those_behind(SessionId id, SendingStep step) {
  const HeldLock& lock = *held_.find(id);
  for (const auto reader : contenders_.readers_behind(id, lock.name)) {
    if (!lock.may_be_shared_by(contenders_.at(reader).options, step.now)) continue;
    contenders_.shares(reader, step);
    held_.share(id, reader, step);
  }
  contenders_.reads(id, lock.name, step);
}

/// The win was over before it could be used: its owner gives the lock back. The call goes on with
/// another owner, unless it was to ask only once.
void ProviderCore::win_too_late(SessionId id, SendingStep step) {
  AcquireCall& call = contenders_.at(id);
  if (call.single_attempt) {
    call.late_win = true;
    return end_call(
        id, {ErrorKind::timed_out, 0, "lock '" + call.name + "': the grant came after its end"},
        step);
  }
  departures_.won_too_late(call, step);
  contenders_.start_over(id, step);
}

/// A lock that is held or lost is not given up: that takes a release. A race of both does no harm.
void ProviderCore::give_up(SessionId id, ErrorKind kind, const std::string& why, SendingStep step) {
  const AcquireCall* call = contenders_.find(id);
  if (call != nullptr) end_call(id, call->error(kind, why), step);
}

/// The caller is notified of the end at once; a possible win is deleted in the background. The next
/// call in the queue asks no later than this call would have.
void ProviderCore::end_call(SessionId id, const Error& error, SendingStep step) {
  step.out.push_back(Ended{id, contenders_.at(id).name, error});
  const AcquireCall call = contenders_.take(id, step);
  departures_.ended(call, step);
  const auto* waiting = call.in<AcquireCall::Waiting>();
  contenders_.leave(id, call.name, waiting != nullptr ? waiting->attempt_at : step.now, step);
}

/// The calls that wait here contend at once: no call of this process took the lock away.
void ProviderCore::lose(SessionId id, LostReason reason, SendingStep step) {
  const HeldLock* lock = held_.find(id);
  if (lock == nullptr || lock->lost) return;
  // At the end of a limited holding the lock is also given back.
  const bool limited = reason == LostReason::deadline && lock->deadline == lock->ends_at;
  if (limited) {
    reason = LostReason::max_holding;
    departures_.give_back(*lock, step);
  }
  held_.lose(id, reason, step);
  contenders_.leave(id, lock->name, step.now, step);
}

}  // namespace leasehold::core
