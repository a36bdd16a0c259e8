#include "core/acquire/contenders.hpp"

#include <algorithm>
#include <utility>

#include "core/acquire/attempt_answer.hpp"
#include "core/check.hpp"

namespace leasehold::core {
namespace {

/// For this long a call that is offered a lock leaves it to calls that poll.
constexpr std::chrono::milliseconds kTurnOfOthers{20};

/// When the attempt was sent that the lease of this grant counts from; none: it cannot be used. The
/// lease never counts from the event or from a later read, because a read may be of an old primary,
/// from before the grant ended again. An attempt renews a grant that is too old: it finds the lock
/// its own.
std::optional<LocalInstant> usable_since(const AcquireCall& call, const NamedOwner& named,
                                         LocalInstant now) {
  const auto parts = parse_lock_id(named.document.lock_id);
  const auto sent = parts ? call.place.sent_at(parts->beat) : std::nullopt;
  const bool usable =
      sent && now < lease_deadline(*sent, call.options.expiry, call.options.max_drift);
  return usable ? sent : std::nullopt;
}

}  // namespace

/// A caller that timed out wants to know the reason: the holder of the lock, or why no server
/// answered. A call that was never the first here may wait for a lock of its own caller.
Error AcquireCall::error(ErrorKind kind, const std::string& why) const {
  std::string message = "lock '" + name + "': " + why;
  if (!last_failure.message.empty()) {
    message += "; last attempt: " + last_failure.message;
  } else if (in<Queued>() != nullptr) {
    message += "; another call of this process has the lock, or waited for it before";
  }
  return {kind, last_failure.code, std::move(message)};
}

/// This is asked of every call for each reply of the stream, so it looks at nothing but the call.
bool AcquireCall::listens() const {
  return !in<Queued>() && enlists;
}

/// Neither a timer nor its turn in line sends a call again that is Attempting without a command.
///
/// INVARIANT: the answered command is the one that the phase names; another one would settle the
/// call by an answer that is not its own.
void AcquireCall::settle(const PendingCommand& command) {
  const auto* attempting = in<Attempting>();
  const auto* receiving = in<Receiving>();
  LEASEHOLD_CHECK(attempting == nullptr || attempting->command == command.id);
  LEASEHOLD_CHECK(receiving == nullptr || receiving->hand_over == command.departure);
  LEASEHOLD_CHECK(attempting != nullptr || receiving != nullptr);
  phase = Attempting{};
}

/// Everything counts from the sending of the command that won: the server may have executed it at
/// once, and the next holder waits by the server's clock from then.
HeldLock held_lock(const AcquireCall& call, const Win& win) {
  const LockOptions& options = call.options;
  HeldLock lock;
  lock.name = call.name;
  lock.options = options;
  lock.owner = call.owner;
  lock.token = win.at;
  lock.acquired_at = win.document.acquired_at;
  lock.slot = win.document.slot;
  lock.room = call.room;
  lock.won_at = lock.sent = win.sent;
  lock.lock_id = win.document.lock_id;
  if (options.max_holding) lock.ends_at = win.sent + *options.max_holding;
  lock.deadline =
      std::min(lease_deadline(win.sent, options.expiry, options.max_drift), lock.ends_at);
  lock.extend_at = win.sent + lock.cadence();
  lock.late_commands = call.unanswered > 0;
  // A lock won from other processes begins a new row.
  lock.hand_overs = win.by == Granted::By::hand_over ? call.hand_overs : 0;
  return lock;
}

/// A single attempt goes past the queue: its caller asks whether the lock is free now. The owner is
/// drawn per call, so that two calls of one process never take each other's document for their own.
void Contenders::add(const AcquireAsked& asked, SendingStep step) {
  if (closed_) {
    step.out.push_back(
        Ended{asked.session, asked.name, {ErrorKind::shut_down, 0, "the provider is closed"}});
    return;
  }
  AcquireCall& call = calls_[asked.session];
  call.name = asked.name;
  call.options = asked.options;
  call.give_up_at = asked.give_up_at;
  call.single_attempt = asked.single_attempt;
  call.room = asked.room;
  call.downgraded = asked.downgraded;
  call.owner = owners_.draw(call.queues(), step);
  // This is for a call that contends at once; `contend` sets it again for one that was queued.
  call.contends_since = step.now;
  if (asked.give_up_at) set_timer(Timer::Kind::give_up, asked.session, *asked.give_up_at, step);
  if (asked.downgraded != 0) return;
  if (asked.single_attempt || queues_.join(asked.name, asked.session)) attempt(asked.session, step);
}

/// Locks that are held stay so, with their heads in the queues: only their releases end those.
std::vector<SessionId> Contenders::close(SendingStep step) {
  closed_ = true;  // first: no call that ends by this promotes the next of its queue
  stream_.end(step);
  std::vector<SessionId> all;
  for (const auto& [id, call] : calls_) all.push_back(id);
  return all;
}

const AcquireCall* Contenders::find(SessionId id) const {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : &found->second;
}

/// A caller that asks in a loop with a long timeout must not leave a timer behind for each call.
AcquireCall Contenders::take(SessionId id, SendingStep step) {
  auto taken = calls_.extract(id);
  LEASEHOLD_CHECK(!taken.empty());
  AcquireCall& call = taken.mapped();
  if (call.give_up_at) clear_timer(Timer::Kind::give_up, id, step);
  call_off(id, call, step);
  return std::move(call);
}

/// A timer of an earlier plan finds a later time, or another phase. A call past its timeout sends
/// nothing more: its give_up timer, which is late, ends it without a trace.
void Contenders::due(Timer timer, SendingStep step) {
  if (timer.kind == Timer::Kind::stream) return stream_.due(anyone_listens(), step);
  const AcquireCall* call = find(timer.id);
  const auto* waiting = call == nullptr ? nullptr : call->in<AcquireCall::Waiting>();
  if (waiting == nullptr || step.now < waiting->attempt_at || call->times_out(step.now)) return;
  attempt(timer.id, step);
}

/// Events that came during the attempt wait for its answer, and count after it.
CallResult Contenders::answered(SessionId id, const PendingCommand& attempt, const Reply& reply,
                                SendingStep step) {
  AcquireCall& call = at(id);
  call.settle(attempt);
  const auto news = std::exchange(call.place.news, std::nullopt);
  const auto answer = read_answer(call, attempt.beat, holder_, reply);
  switch (answer) {
    case AttemptAnswer::won:
      return Win{Granted::By::attempt,    attempt.id,           attempt.sent,
                 reply.documents.front(), reply.operation_time, attempt.observed.has_value()};
    case AttemptAnswer::refused:
      if (auto error = refused(id, attempt, reply, step)) return *std::move(error);
      break;
    case AttemptAnswer::unanswered:
    case AttemptAnswer::not_executed:
      failed(id, reply, answer == AttemptAnswer::unanswered, step);
      break;
    // Its owner may still have the document: the end deletes it.
    case AttemptAnswer::permanent: ++call.unanswered; [[fallthrough]];
    case AttemptAnswer::cannot_succeed:
      return Error{ErrorKind::configuration, reply.code, reply.message};
  }
  if (call.single_attempt) {
    const auto& [kind, code, message] = call.last_failure;
    return Error{kind, code, "lock '" + call.name + "': " + message};
  }
  // A refusal after the event knows better: the call was refused although the lock had been passed
  // to it.
  const bool knows = answer == AttemptAnswer::refused && reply.outcome == Outcome::done;
  if (!news || (knows && !reply.is_before(news->at))) return {};
  return act_on(id, *news, 0, step);
}

/// Only the head has an entry in the lock's queue: the calls behind it have sent nothing yet.
SessionId Contenders::head_with(Owner owner, const std::string& name) const {
  const WaitQueue* queue = queues_.find(name);
  const AcquireCall* call = queue == nullptr ? nullptr : find(queue->head);
  return call != nullptr && call->owner == owner ? queue->head : 0;
}

CallResult Contenders::notify(SessionId id, const NamedOwner& named, CommandId command,
                              SendingStep step) {
  // Each write of a lock that is shared names all that have it. Only the first that names an
  // attempt is that attempt's own.
  AcquireCall& call = at(id);
  const auto& lock_id = named.document.lock_id;
  const bool holds = call.room != 0 && named.as != NamedOwner::As::next;
  if (holds && std::exchange(call.place.named, lock_id) == lock_id) return {};
  return act_on(id, named, command, step);
}

/// During an attempt the event waits for its answer, which may be of a later time. A call that is
/// Receiving gets the lock from this process and needs no event.
CallResult Contenders::act_on(SessionId id, const NamedOwner& named, CommandId command,
                              SendingStep step) {
  AcquireCall& call = at(id);
  if (call.in<AcquireCall::Attempting>()) {
    auto& news = call.place.news;
    if (!news || named.as != NamedOwner::As::unclear) news = named;
    return {};
  }
  if (!call.in<AcquireCall::Waiting>()) return {};
  // It is the first if no write since the call waited is missing, and it has not waited since.
  const auto waited = call.place.confirmed_at();
  const bool grants = call.room == 0 || (waited >= stream_.since() && waited < named.at);
  if (named.as == NamedOwner::As::holder && grants) {
    if (const auto sent = usable_since(call, named, step.now)) {
      stop_waiting(id, step);
      return Win{Granted::By::pass_on, command, *sent, named.document, named.at};
    }
  }
  // A call that was offered a lock leaves it to others first. Otherwise its own attempt shows
  // whether it has the lock.
  const auto turn = named.as == NamedOwner::As::next ? kTurnOfOthers : Duration(0);
  bring_forward(id, step.now + turn, step);
  return {};
}

ChangeStream::Heard Contenders::stream_answered(CommandId command, const Reply& reply,
                                                SendingStep step) {
  return stream_.answered(command, reply, anyone_listens(), step);
}

/// After a gap all that wait ask, because a grant for one of them may not have been reported.
void Contenders::read_on(ChangeStream::Heard heard, SendingStep step) {
  LEASEHOLD_CHECK(heard != ChangeStream::Heard::nothing);
  if (heard == ChangeStream::Heard::gap) {
    for (const auto& [name, queue] : queues_.all()) {
      const AcquireCall* call = find(queue.head);
      if (call == nullptr || !call->listens()) continue;
      bring_forward(queue.head, step.now, step);
    }
  }
  stream_.read_on(anyone_listens(), unread_for(step.now), step);
}

/// The head asks in its turn: another process that was seen to want the lock gets a chance before
/// (see WaitQueue).
void Contenders::lock_freed(const std::string& name, SendingStep step) {
  const WaitQueue* queue = queues_.find(name);
  if (queue == nullptr) return;
  bring_forward(queue->head, queue->turn_after_release(step.now), step);
}

/// Once closed there is no receiver: all calls have ended.
SessionId Contenders::receiver_after(SessionId releaser, const std::string& name) const {
  if (closed_) return 0;
  const SessionId next = queues_.after(releaser, name);
  const AcquireCall* call = find(next);
  return call != nullptr && call->can_receive() ? next : 0;
}

/// The call is the head from here on, whatever its hand-over brings. And its owner may be in the
/// document by another command than its own attempts.
const AcquireCall& Contenders::receive(SessionId id, DepartureId hand_over, int in_a_row,
                                       SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.can_receive() && call.single_attempt == (call.downgraded != 0));
  if (call.downgraded == 0) {
    queues_.pass_to(call.name, id);
  } else if (WaitQueue* queue = queues_.headed_by(call.downgraded, call.name)) {
    queue->head = id;  // in the place of the holder, unless that holds past the queue
  }
  call_off(id, call, step);
  call.hand_overs = in_a_row;
  call.phase = AcquireCall::Receiving{hand_over};
  return call;
}

/// The attempt is sent at once, because no holder has refused the call and the lock may be free.
CallResult Contenders::contend_for_itself(SessionId id, bool unclear, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Receiving>());
  call.contends_since = step.now;
  if (unclear) ++call.unanswered;
  if (call.single_attempt) {
    call.phase = AcquireCall::Attempting{};
    return unclear ? call.error(ErrorKind::unknown_outcome, "no reply to the downgrade")
                   : call.not_held();
  }
  attempt(id, step);
  return {};
}

/// A new owner, because the delete may come late and the old one must not win again before it. What
/// requests of the old owner may still do is for the departure to undo.
void Contenders::start_over(SessionId id, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.single_attempt);
  call.owner = owners_.draw(call.queues(), step);
  call.unanswered = 0;
  call.place = {};
  attempt(id, step);
}

/// Keeps what the win teaches: the strategy's pace, and since when this process has the lock.
void Contenders::won(SessionId id, const Win& win, SendingStep step) {
  const AcquireCall& call = at(id);
  if (win.by == Granted::By::attempt) pacing_.learn(call, true, step.now);
  // In a hand-over the tenure of this process goes on.
  WaitQueue* queue = queues_.headed_by(id, call.name);
  if (win.by != Granted::By::hand_over) {
    pacing_.learn_turn(call, win.by == Granted::By::pass_on, step.now);
    if (queue != nullptr) queue->tenure_since = win.sent;
  }
  take(id, step);
}

/// Those that write do not share, nor do those behind one that writes, because they came later.
std::vector<SessionId> Contenders::readers_behind(SessionId holder, const std::string& name) {
  std::vector<SessionId> readers;
  const WaitQueue* queue = queues_.headed_by(holder, name);
  if (queue == nullptr) return readers;
  const auto& waiters = queue->waiters;
  const auto writes = [this](SessionId id) { return at(id).room != kReaders; };
  const auto end = std::ranges::find_if(waiters, writes);
  readers.assign(waiters.begin(), end);
  return readers;
}

void Contenders::shares(SessionId id, SendingStep step) {
  const AcquireCall call = take(id, step);
  const SessionId next = queues_.leave(call.name, id, true);
  LEASEHOLD_CHECK(call.in<AcquireCall::Queued>() && next == 0);
}

/// A call that waited behind it would have no place in the lock's queue, while readers of other
/// processes came.
void Contenders::reads(SessionId holder, const std::string& name, SendingStep step) {
  WaitQueue* queue = queues_.headed_by(holder, name);
  if (queue == nullptr) return;
  queue->reader = holder;
  if (!queue->waiters.empty()) leave(holder, name, step.now, step);
}

SessionId Contenders::reader_of(const std::string& name) const {
  const WaitQueue* queue = closed_ ? nullptr : queues_.find(name);
  return queue != nullptr && queue->head == queue->reader ? queue->head : 0;
}

/// No call follows one that was not the head, nor a single attempt, which is in no queue.
void Contenders::leave(SessionId id, const std::string& name, LocalInstant at_latest,
                       SendingStep step) {
  const SessionId next = queues_.leave(name, id, !closed_);
  if (next != 0) contend(next, at_latest, step);
}

/// The wait counts from here, not from the call: behind others of this process it learned nothing
/// of how long the lock takes to get.
void Contenders::contend(SessionId id, LocalInstant at_latest, SendingStep step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Queued>());
  call.contends_since = step.now;
  plan(id, pacing_.first_attempt_at(call, at_latest, stream_.reports(), step), step);
}

/// The tenure is how long this process had the lock, hand-overs included. For at most so long it
/// leaves the lock to a rival before it asks again.
void Contenders::released(SessionId id, const std::string& name, LocalInstant at_latest,
                          SendingStep step) {
  WaitQueue* queue = queues_.headed_by(id, name);
  if (queue != nullptr) queue->tenure = step.now - queue->tenure_since;
  leave(id, name, at_latest, step);
}

/// Linear in the calls, like the next: asked once a reply of the stream, never once a lock.
bool Contenders::anyone_listens() const {
  return std::ranges::any_of(calls_, [](const auto& entry) { return entry.second.listens(); });
}

/// The shortest of all calls that the event of a grant may be for; none: there is no such call.
std::optional<Duration> Contenders::unread_for(LocalInstant now) const {
  std::optional<Duration> shortest;
  for (const auto& [id, call] : calls_) {
    if (!call.listens() || !call.place.stands()) continue;
    const auto one = call.place.unread_for(now);
    shortest = std::min(shortest.value_or(one), one);
  }
  return shortest;
}

}  // namespace leasehold::core
