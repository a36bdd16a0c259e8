#include "core/acquire/contenders.hpp"

#include <utility>

#include "core/check.hpp"

namespace leasehold::core {
namespace {

/// For this long a call that is offered a lock leaves it to calls that poll.
constexpr std::chrono::milliseconds kTurnOfOthers{20};

/// When the attempt was sent that the lease of this grant counts from; none: it cannot be used. The
/// lease never counts from the news or from a later read, because a read may be of an old primary,
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

/// A single attempt goes past the queue: its caller asks whether the lock is free now.
void Contenders::add(const AcquireAsked& asked, SendingStep step) {
  if (closed_) {
    step.out.push_back(
        Ended{asked.session, asked.name, {ErrorKind::shut_down, 0, "the provider is closed"}});
    return;
  }
  attempts_.add(asked, step);
  if (asked.single_attempt || queues_.join(asked.name, asked.session)) {
    attempts_.start(asked.session, step);
  }
}

/// Locks that are held stay so, with their heads in the queues: only their releases end those.
std::vector<SessionId> Contenders::close(SendingStep step) {
  closed_ = true;  // first: no call that ends by this promotes the next of its queue
  stream_.end(step);
  return attempts_.ids();
}

/// Both kinds of timer may be early, late or of something over: then the parts find nothing due.
void Contenders::due(Timer timer, SendingStep step) {
  if (timer.kind == Timer::Kind::stream) return stream_.due(step);
  attempts_.due(timer.id, step);
}

/// Whether the stream tells this call what it waits for.
bool Contenders::hears(SessionId id) const {
  const AcquireCall* call = attempts_.find(id);
  return call != nullptr && call->queues() && stream_.is_open();
}

/// What the answer means `Attempts::read` says; what follows from it for the call is here. News
/// that came during the attempt wait for its answer, and count after it.
CallResult Contenders::answered(SessionId id, const PendingCommand& attempt, const Reply& reply,
                                SendingStep step) {
  AcquireCall& call = attempts_.at(id);
  call.settle(attempt);
  const auto news = std::exchange(call.place.news, std::nullopt);
  const auto answer = attempts_.read(id, attempt, reply);
  switch (answer) {
    case AttemptAnswer::won:
      return Win{Granted::By::attempt,    attempt.id,           attempt.sent,
                 reply.documents.front(), reply.operation_time, attempt.observed.has_value()};
    case AttemptAnswer::refused: refused(id, attempt, reply, step); break;
    case AttemptAnswer::unanswered:
    case AttemptAnswer::not_executed: {
      const bool unanswered = answer == AttemptAnswer::unanswered;
      attempts_.failed(id, reply, unanswered, hears(id), step);
      break;
    }
    // Its owner may have the document all the same: the end deletes it.
    case AttemptAnswer::permanent: ++call.unanswered; [[fallthrough]];
    case AttemptAnswer::cannot_succeed:
      return Error{ErrorKind::configuration, reply.code, reply.message};
  }
  if (call.single_attempt) return call.last_failure;
  // An attempt that was executed after the news knows better: it was refused although the lock had
  // been passed to it.
  const bool outdated = news && reply.outcome == Outcome::done && !reply.is_before(news->at);
  if (!news || outdated) return {};
  return notify(id, *news, 0, step);
}

/// News that a rival holds it: for the strategy, and for the queue's next release. The first call
/// that stands in a queue opens the stream; a call that finds the lock free needs none.
void Contenders::refused(SessionId id, const PendingCommand& attempt, const Reply& reply,
                         SendingStep step) {
  attempts_.refused(id, attempt, reply, hears(id), step);
  const AcquireCall& call = attempts_.at(id);
  if (WaitQueue* queue = queues_.headed_by(id, call.name)) queue->rival_seen = step.now;
  if (call.single_attempt) return;
  if (!call.place.stands()) return;  // it found no room in the queue, and has nothing to hear of
  // The owners of calls that queue begin alike, with their provider's half (see Owners).
  stream_.listen(call.owner.high, step);
}

/// Only the head has an entry in the lock's queue: the calls behind it have sent nothing yet.
SessionId Contenders::head_with(Owner owner, const std::string& name) const {
  const WaitQueue* queue = queues_.find(name);
  const AcquireCall* call = queue == nullptr ? nullptr : attempts_.find(queue->head);
  return call != nullptr && call->owner == owner ? queue->head : 0;
}

/// During an attempt the news wait for its answer, which may be of a later time. A call that is
/// Receiving gets the lock from this process and needs no news.
CallResult Contenders::notify(SessionId id, const NamedOwner& named, CommandId command,
                              SendingStep step) {
  AcquireCall& call = attempts_.at(id);
  if (call.in<AcquireCall::Attempting>()) {
    call.place.news = named;
    return {};
  }
  if (!call.in<AcquireCall::Waiting>()) return {};
  if (named.as == NamedOwner::As::holder) {
    if (const auto sent = usable_since(call, named, step.now)) {
      attempts_.stop_waiting(id, step);
      return Win{Granted::By::pass_on, command, *sent, named.document, named.at};
    }
  }
  // A call that was offered a lock leaves it to others first. Otherwise its own attempt shows
  // whether it has the lock.
  const auto turn = named.as == NamedOwner::As::next ? kTurnOfOthers : Duration(0);
  attempts_.bring_forward(id, step.now + turn, step);
  return {};
}

ChangeStream::Heard Contenders::stream_answered(CommandId command, const Reply& reply,
                                                SendingStep step) {
  return stream_.answered(command, reply, attempts_.anyone_listens(), step);
}

/// A stream that was opened just now may have missed a grant for a waiting call.
void Contenders::read_on(ChangeStream::Heard heard, SendingStep step) {
  LEASEHOLD_CHECK(heard != ChangeStream::Heard::nothing);
  if (heard == ChangeStream::Heard::opened) {
    for (const auto& [name, queue] : queues_.all()) {
      const AcquireCall* call = attempts_.find(queue.head);
      if (call == nullptr || !call->queues()) continue;
      attempts_.bring_forward(queue.head, step.now, step);
    }
  }
  stream_.read_on(attempts_.anyone_listens(), attempts_.anyone_stands(), step);
}

/// The head asks in its turn: another process that was seen to want the lock gets a chance before
/// (see WaitQueue).
void Contenders::lock_freed(const std::string& name, SendingStep step) {
  const WaitQueue* queue = queues_.find(name);
  if (queue == nullptr) return;
  attempts_.bring_forward(queue->head, queue->turn_after_release(step.now), step);
}

/// Once closed there is no receiver: all calls have ended.
SessionId Contenders::receiver_after(SessionId releaser, const std::string& name) const {
  if (closed_) return 0;
  const SessionId next = queues_.after(releaser, name);
  const AcquireCall* call = attempts_.find(next);
  return call != nullptr && call->can_receive() ? next : 0;
}

/// The call is the head from here on, whatever its hand-over brings.
const AcquireCall& Contenders::receive(SessionId id, CleanupId hand_over, int in_a_row,
                                       SendingStep step) {
  queues_.pass_to(attempts_.at(id).name, id);
  return attempts_.receive(id, hand_over, in_a_row, step);
}

void Contenders::contend_for_itself(SessionId id, bool unclear, SendingStep step) {
  attempts_.contend_for_itself(id, unclear, step);
}

void Contenders::start_over(SessionId id, SendingStep step) { attempts_.start_over(id, step); }

/// Keeps what the win teaches: the strategy's pace, and since when this process has the lock.
void Contenders::won(SessionId id, const Win& win, SendingStep step) {
  const AcquireCall& call = attempts_.at(id);
  if (win.by == Granted::By::attempt) attempts_.won(id, step.now);
  // In a hand-over the tenure of this process goes on.
  WaitQueue* queue = queues_.headed_by(id, call.name);
  if (win.by != Granted::By::hand_over && queue != nullptr) queue->tenure_since = win.sent;
  take(id, step);
}

/// No call follows one that was not the head, nor a single attempt, which is in no queue.
void Contenders::leave(SessionId id, const std::string& name, LocalInstant at_latest,
                       SendingStep step) {
  const SessionId next = queues_.leave(name, id, !closed_);
  if (next != 0) attempts_.contend(next, at_latest, hears(next), step);
}

/// The tenure is how long this process had the lock, hand-overs included. For at most so long it
/// leaves the lock to a rival before it asks again.
void Contenders::released(SessionId id, const std::string& name, LocalInstant at_latest,
                          SendingStep step) {
  WaitQueue* queue = queues_.headed_by(id, name);
  if (queue != nullptr) queue->tenure = step.now - queue->tenure_since;
  leave(id, name, at_latest, step);
}

}  // namespace leasehold::core
