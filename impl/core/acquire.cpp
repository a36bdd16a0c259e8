#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/provider_core.hpp"

namespace leasehold::core {
namespace {

constexpr std::chrono::seconds kIndexTimeout{10};
constexpr int kIndexTries = 5;

bool owned_by(const LockDocument& document, Owner owner) {
  return document.lock_id.starts_with(to_hex(owner) + '.');
}

/// The holder of a refused lock as people know it: the part of the lockId after the beat, if any.
std::string holder_of(const LockDocument& document) {
  if (!document.oddity.empty()) return "corrupt lock document: " + document.oddity;
  std::size_t dot = 0;
  for (int parts = 0; parts < 3; ++parts) {
    dot = document.lock_id.find('.', dot);
    if (dot == std::string::npos) return "held by " + document.lock_id;
    ++dot;
  }
  return "held by " + document.lock_id.substr(dot);
}

Error failure(const Reply& reply, bool unknown) {
  return {unknown ? ErrorKind::unknown_outcome : ErrorKind::unavailable, reply.code, reply.message};
}

}  // namespace

void ProviderCore::start_attempt(SessionId id, Session& session, Step step) {
  LEASEHOLD_CHECK(session.command == 0);
  session.phase = Session::Phase::attempting;
  ++session.attempts;
  PendingCommand pending{
      .kind = PendingCommand::Kind::attempt,
      .sessions = {id},
      .beat = ++last_beat_,
      .observed = observations_.presumed_dead(session.name, step.now, session.options.max_drift)};
  AcquireCommand command{id,
                         session.name,
                         session.owner,
                         lock_id(session, pending.beat),
                         pending.observed,
                         session.options.expiry,
                         session.options.clock_margin};
  session.command = send(std::move(pending), session.options.effective_operation_timeout(),
                         std::move(command), step);
}

void ProviderCore::answer_attempt(const PendingCommand& pending, const Reply& reply, Step step) {
  if (reply.outcome == Outcome::done) ensure_index(step);
  const bool executed = reply.outcome == Outcome::done || reply.outcome == Outcome::unknown;
  const LockDocument* document =
      executed && !reply.documents.empty() ? &reply.documents.front() : nullptr;
  // The call that sent this attempt may have given up; then a removal waits for the answer.
  const auto found =
      pending.sessions.empty() ? sessions_.end() : sessions_.find(pending.sessions.front());
  const Owner owner =
      found != sessions_.end() ? found->second.owner : cleanups_.at(pending.cleanup).owner;
  // Another's lockId means refused, whatever the write concern says: the attempt wrote nothing.
  const bool refused = reply.outcome == Outcome::duplicate_key ||
                       (document != nullptr && !owned_by(*document, owner));
  if (found == sessions_.end()) {
    return attempt_ended(pending.cleanup, executed && !refused, reply.outcome, step);
  }
  const SessionId id = found->first;
  Session& session = found->second;
  LEASEHOLD_CHECK(session.phase == Session::Phase::attempting);
  session.command = 0;
  if (refused) return refuse(id, pending, reply, step);
  if (reply.outcome == Outcome::configuration) {
    return end_acquire(id, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
  if (reply.outcome == Outcome::not_executed) return fail(id, reply, false, step);
  const bool ours_now = reply.outcome == Outcome::done && document != nullptr && !reply.retried &&
                        document->lock_id == lock_id(session, pending.beat);
  if (!ours_now && reply.permanent) {
    ++session.unanswered;
    return end_acquire(id, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
  if (!ours_now) return fail(id, reply, true, step);
  win(id, pending, reply, step);
}

void ProviderCore::win(SessionId id, const PendingCommand& pending, const Reply& reply, Step step) {
  Session& session = sessions_.at(id);
  const LockDocument& document = reply.documents.front();
  if (reply.operation_time.value() <= document.fencing_token) {
    ++session.unanswered;  // so that ending deletes the owner, and with it the number
    return end_acquire(
        id,
        {ErrorKind::configuration, 0,
         "the fencing token " + reply.operation_time.to_string() + " of lock '" + session.name +
             "' is not above the stored " + std::to_string(document.fencing_token)},
        step);
  }
  const LockOptions& options = session.options;
  const auto ends_at =
      options.max_holding ? pending.sent + *options.max_holding : LocalInstant::max();
  const auto deadline =
      std::min(lease_deadline(pending.sent, options.expiry, options.max_drift), ends_at);
  if (step.now >= deadline) return win_too_late(id, step);
  if (pending.kind == PendingCommand::Kind::attempt) {
    session.handed_on = 0;
    if (WaitQueue* queue = queue_headed_by(id, session)) queue->tenure_since = pending.sent;
    learn(session, true, step);
    won_without_news(session, pending, step);
  }
  session.phase = Session::Phase::held;
  session.token = reply.operation_time;
  session.acquired_at = document.acquired_at;
  session.ends_at = ends_at;
  session.deadline = deadline;
  session.extend_at = pending.sent + session.options.effective_cadence();
  step.out.push_back(Granted{id, session.token, session.owner, pending.sent, session.deadline});
  step.out.push_back(SetTimer{{Timer::Kind::lease_end, id}, session.deadline});
  if (session.give_up_at) clear_timer(Timer::Kind::give_up, id, step);
  arm_extension_round(session.extend_at, step);
}

/// What was won is over before anybody could use it: it is given back, by its owner.
void ProviderCore::win_too_late(SessionId id, Step step) {
  Session& session = sessions_.at(id);
  if (session.single_attempt) {
    ++session.unanswered;  // so that ending deletes the owner
    return end_acquire(
        id, {ErrorKind::timed_out, 0, "lock '" + session.name + "': the grant came after its end"},
        step);
  }
  replace_owner(session, step);
  wait(id, step.now, step);
}

void ProviderCore::refuse(SessionId id, const PendingCommand& pending, const Reply& reply,
                          Step step) {
  Session& session = sessions_.at(id);
  session.last_failure = {ErrorKind::refused, reply.code, "held by another"};
  learn(session, false, step);
  if (WaitQueue* queue = queue_headed_by(id, session)) queue->rival_seen = step.now;
  bool look_again_now = false;
  if (!reply.documents.empty()) {
    const LockDocument& document = reply.documents.front();
    session.last_failure.message = holder_of(document);
    observations_.see(session.name, document.lock_id, step.now);
    const auto dead =
        observations_.presumed_dead(session.name, step.now, session.options.max_drift);
    look_again_now = dead && dead != pending.observed;  // it matured while the attempt was out
    if (!document.oddity.empty() && !session.oddity_reported) {
      session.oddity_reported = true;
      step.out.push_back(Warned{"lock '" + session.name + "': " + session.last_failure.message +
                                "; it counts as held until it is deleted by hand"});
    }
  }
  if (session.single_attempt) return end_acquire(id, session.last_failure, step);
  const bool counts = session.options.waiting->wants_stream() && !session.waits_since;
  if (counts) session.waits_since = reply.operation_time;
  const bool freed = std::exchange(session.freed_meanwhile, false);
  session.woken = false;
  wait(id, look_again_now ? step.now : next_attempt_at(session, true, step), step);
  if (freed && !look_again_now) wake(id, session, step);
  want_stream(session, step);
}

void ProviderCore::fail(SessionId id, const Reply& reply, bool unknown, Step step) {
  Session& session = sessions_.at(id);
  const bool first_unknown = unknown && session.unanswered == 0;
  if (unknown) ++session.unanswered;
  session.last_failure = failure(reply, unknown);
  if (session.single_attempt) return end_acquire(id, session.last_failure, step);
  // The first retry after a lost reply is immediate: it recognises its own win.
  wait(id, first_unknown ? step.now : next_attempt_at(session, false, step), step);
}

AttemptSeen ProviderCore::seen_by(const Session& session, bool refused, Step step) const {
  return {.attempts = std::max(session.attempts, 1),
          .refused = refused,
          .waited = step.now - session.contends_since,
          .pace = paces_.pace(session.name),
          .last_pause = session.last_pause,
          .told = stream_.phase == Stream::Phase::open,
          .releases = session.releases,
          .woken = session.woken};
}

void ProviderCore::learn(const Session& session, bool won, Step step) {
  paces_.attempted(session.name, *session.options.waiting, seen_by(session, !won, step), won,
                   step.now);
}

LocalInstant ProviderCore::next_attempt_at(Session& session, bool refused, Step step) const {
  session.last_pause =
      session.options.waiting->pause(seen_by(session, refused, step), step.entropy.draw());
  const auto at = step.now + session.last_pause;
  const auto dead_at = observations_.presumed_dead_at(session.name, session.options.max_drift);
  return dead_at && *dead_at > step.now ? std::min(at, *dead_at) : at;
}

void ProviderCore::wait(SessionId id, LocalInstant at, Step step) {
  Session& session = sessions_.at(id);
  session.poll_at = at;
  plan_attempt(id, session, at, step);
}

void ProviderCore::plan_attempt(SessionId id, Session& session, LocalInstant at, Step step) {
  const bool timer_set = session.phase == Session::Phase::waiting;
  session.phase = Session::Phase::waiting;
  session.attempt_at = at;
  if (at <= step.now) {
    if (timer_set) clear_timer(Timer::Kind::attempt, id, step);
    return start_attempt(id, session, step);
  }
  step.out.push_back(SetTimer{{Timer::Kind::attempt, id}, at});
}

void ProviderCore::give_up(SessionId id, ErrorKind kind, const std::string& why, Step step) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  if (session.phase == Session::Phase::held || session.phase == Session::Phase::lost) return;
  std::string message = "lock '" + session.name + "': " + why;
  if (!session.last_failure.message.empty()) {
    message += "; last attempt: " + session.last_failure.message;
  }
  end_acquire(id, {kind, session.last_failure.code, std::move(message)}, step);
}

void ProviderCore::end_acquire(SessionId id, Error error, Step step) {
  const auto found = sessions_.find(id);
  const Session& session = found->second;
  step.out.push_back(Ended{id, std::move(error)});
  if (session.give_up_at) clear_timer(Timer::Kind::give_up, id, step);
  if (session.phase == Session::Phase::waiting) clear_timer(Timer::Kind::attempt, id, step);
  if (session.phase == Session::Phase::receiving) stop_receiving(session, step);
  if (session.command != 0) {
    Cleanup cleanup = make_cleanup(session, step);
    cleanup.awaits_attempt = true;
    cleanup.outcome_uncertain = session.unanswered > 0;
    cleanup.command = session.command;
    PendingCommand& pending = pending_.at(session.command);
    pending.sessions.clear();
    pending.cleanup = ++last_cleanup_;
    cleanups_.emplace(pending.cleanup, std::move(cleanup));
  } else if (session.unanswered > 0) {
    start_cleanup(make_cleanup(session, step), step);
  }
  // Whoever comes next keeps the pace: those who give up do not make the others ask more often.
  const auto again = session.phase == Session::Phase::waiting ? session.attempt_at : step.now;
  const std::string name = session.name;
  sessions_.erase(found);
  leave_queue(name, id, again, step);
}

/// The hand-over to this session becomes a deletion, of both owners.
void ProviderCore::stop_receiving(const Session& session, Step step) {
  Cleanup& cleanup = cleanups_.at(session.hand_over);
  cleanup.receiver = 0;
  if (cleanup.command != 0) return;  // its answer has the delete follow
  clear_timer(Timer::Kind::cleanup, session.hand_over, step);
  send_delete(session.hand_over, cleanup, step);
}

void ProviderCore::replace_owner(Session& session, Step step) {
  Cleanup cleanup = make_cleanup(session, step);
  cleanup.resend = true;
  start_cleanup(std::move(cleanup), step);
  session.owner = fresh_owner(step);
  session.unanswered = 0;
}

void ProviderCore::ensure_index(Step step) {
  if (index_ != Index::wanted) return;
  index_ = Index::asked;
  ++index_tries_;
  send({.kind = PendingCommand::Kind::index}, kIndexTimeout, EnsureIndexCommand{}, step);
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
