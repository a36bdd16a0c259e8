#include "core/attempts.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using Queued = AcquireCall::Queued;
using Waiting = AcquireCall::Waiting;
using Attempting = AcquireCall::Attempting;

/// The holder of a refused lock as people know it: the part of the lockId after the beat, if any.
std::string holder_of(const LockDocument& document) {
  if (!document.corruption.empty()) return "corrupt lock document: " + document.corruption;
  std::size_t dot = 0;
  for (int parts = 0; parts < 3; ++parts) {
    dot = document.lock_id.find('.', dot);
    if (dot == std::string::npos) return "held by " + document.lock_id;
    ++dot;
  }
  return "held by " + document.lock_id.substr(dot);
}

/// The document that the command left, if the reply shows it.
const LockDocument* shown(const Reply& reply) {
  const bool executed = reply.outcome == Outcome::done || reply.outcome == Outcome::unknown;
  return executed && !reply.documents.empty() ? &reply.documents.front() : nullptr;
}

/// Any beat of this owner is ours: the document may show an earlier attempt that won unanswered.
bool owned_by(const LockDocument& document, Owner owner) {
  return document.lock_id.starts_with(to_hex(owner) + '.');
}

/// Those who wait in the queue, and single attempts, which are past it, do not act on news.
bool listens(const AcquireCall& call) {
  return !call.single_attempt && !call.in<Queued>() && (call.wants_releases() || call.queues());
}

/// How long a call pauses that stands in the lock's queue, and hears when its turn has come. What it
/// waited before there was room does not count: its place is as new as anybody's.
Duration renewal_of(const AcquireCall& call, LocalInstant now) {
  const Duration pause = *call.options.waiting->renewal(now - call.place.stands_since(now));
  return std::min<Duration>(pause, call.options.expiry / 3);
}

/// An entry outlives two renewals: one that is lost or late does not lose the place. Who crashed
/// while it waited is passed over after that.
constexpr int kRenewalsOfEntry = 3;

}  // namespace

/// A duplicate key is a refusal too: somebody else inserted the name between match and insert.
bool refuses(const Reply& reply, Owner owner) {
  const LockDocument* document = shown(reply);
  return reply.outcome == Outcome::duplicate_key ||
         (document != nullptr && !owned_by(*document, owner));
}

Error AcquireCall::error(ErrorKind kind, const std::string& why) const {
  std::string message = "lock '" + name + "': " + why;
  if (!last_failure.message.empty()) message += "; last attempt: " + last_failure.message;
  return {kind, last_failure.code, std::move(message)};
}

/// The owner is drawn per call, so that two calls of one process never take each other's document
/// for their own.
const AcquireCall& Attempts::add(const AcquireAsked& asked, Step step) {
  AcquireCall& call = calls_[asked.session];
  call.name = asked.name;
  call.options = asked.options;
  call.give_up_at = asked.give_up_at;
  call.single_attempt = asked.single_attempt;
  call.owner = draw_owner(call, step);
  // For a call that contends at once; `contend` sets it again for one that was queued.
  call.contends_since = step.now;
  if (asked.give_up_at) set_timer(Timer::Kind::give_up, asked.session, *asked.give_up_at, step);
  return call;
}

AcquireCall* Attempts::find(SessionId id) {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : &found->second;
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

/// A timer of an earlier plan finds a later time, or another phase.
void Attempts::due(SessionId id, PendingCommands& pending, Step step) {
  const AcquireCall* call = find(id);
  const auto* waiting = call == nullptr ? nullptr : call->in<Waiting>();
  if (waiting != nullptr && step.now >= waiting->attempt_at) start(id, pending, step);
}

bool Attempts::times_out(SessionId id, LocalInstant now) const {
  const AcquireCall* call = find(id);
  return call != nullptr && call->give_up_at && now >= *call->give_up_at;
}

/// The lockId whose holder is presumed dead travels with the attempt: the server compares it inside
/// the write, so an extension in between still wins.
void Attempts::start(SessionId id, PendingCommands& pending, Step step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.in<Attempting>() || call.in<Attempting>()->command == 0);
  ++call.attempts;
  PendingCommand attempt{
      .kind = PendingCommand::Kind::attempt,
      .sessions = {id},
      .beat = pending.next_beat(),
      .observed = observations_.presumed_dead(call.name, step.now, call.options.max_drift)};
  AcquireCommand command{id,
                         call.name,
                         call.owner,
                         lock_id(call, attempt.beat),
                         attempt.observed,
                         call.options.expiry,
                         call.options.clock_margin};
  if (call.queues()) {
    const auto good_for = kRenewalsOfEntry * renewal_of(call, step.now);
    command.queues_for = std::chrono::ceil<std::chrono::milliseconds>(good_for);
    call.place.sent(attempt.beat, step.now);
  }
  call.phase = Attempting{pending.send(
      std::move(attempt), call.options.effective_operation_timeout(), std::move(command), step)};
}

/// Without news of a stream both are the same: the safety net is the plan.
void Attempts::wait(SessionId id, LocalInstant at, PendingCommands& pending, Step step) {
  plan(id, {.attempt_at = at, .poll_at = at}, pending, step);
}

/// At most one attempt timer per call is set: planning again replaces it, starting clears it.
void Attempts::plan(SessionId id, Waiting waiting, PendingCommands& pending, Step step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.single_attempt);
  const bool timer_set = call.in<Waiting>() != nullptr;
  call.phase = waiting;
  if (waiting.attempt_at > step.now) {
    return set_timer(Timer::Kind::attempt, id, waiting.attempt_at, step);
  }
  if (timer_set) clear_timer(Timer::Kind::attempt, id, step);
  start(id, pending, step);
}

/// Never put off: what was planned before may be a holder's presumed death.
void Attempts::bring_forward(SessionId id, LocalInstant at, PendingCommands& pending, Step step) {
  const AcquireCall* call = find(id);
  const auto* waiting = call == nullptr ? nullptr : call->in<Waiting>();
  if (waiting != nullptr && at < waiting->attempt_at) wait(id, at, pending, step);
}

void Attempts::stop_waiting(SessionId id, Step step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<Waiting>());
  clear_timer(Timer::Kind::attempt, id, step);
  call.phase = Attempting{};
}

/// Whose attempt is under way gets the lock by that, or is refused: it is too late to give it.
bool Attempts::can_receive(SessionId id) const {
  const AcquireCall* call = find(id);
  return call != nullptr && (call->in<Queued>() || call->in<Waiting>());
}

/// From here on its owner may be in the document by another command than its own attempts.
const AcquireCall& Attempts::receive(SessionId id, CleanupId hand_over, int in_a_row, Step step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(!call.single_attempt);
  if (call.in<Waiting>()) clear_timer(Timer::Kind::attempt, id, step);
  call.hand_overs = in_a_row;
  call.phase = AcquireCall::Receiving{hand_over};
  return call;
}

/// At once, without the pause of a refusal: nobody has refused it, and the lock may be free.
void Attempts::contend_for_itself(SessionId id, bool unclear, PendingCommands& pending, Step step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<AcquireCall::Receiving>());
  call.contends_since = step.now;
  if (unclear) ++call.unanswered;
  wait(id, step.now, pending, step);
}

/// As Attempting without a command it can neither be woken nor sent again by the way.
void Attempts::settle(SessionId id, const PendingCommand& command) {
  AcquireCall& call = at(id);
  const auto* attempting = call.in<Attempting>();
  const auto* receiving = call.in<AcquireCall::Receiving>();
  LEASEHOLD_CHECK(attempting == nullptr || attempting->command == command.id);
  LEASEHOLD_CHECK(receiving == nullptr || receiving->hand_over == command.cleanup);
  LEASEHOLD_CHECK(attempting != nullptr || receiving != nullptr);
  call.phase = Attempting{};
}

/// The order of the questions matters: a refusal is certain whatever else the reply says; only then
/// comes what cannot succeed, what was not executed, and last whether this very execution won.
AttemptAnswer Attempts::read(SessionId id, const PendingCommand& attempt,
                             const Reply& reply) const {
  const AcquireCall& call = calls_.at(id);
  if (refuses(reply, call.owner)) return AttemptAnswer::refused;
  if (reply.outcome == Outcome::configuration) return AttemptAnswer::cannot_succeed;
  if (reply.outcome == Outcome::not_executed) return AttemptAnswer::not_executed;
  // The beat in the lockId names this execution. A document of an earlier beat is ours too, but its
  // time is not in this reply: the next attempt, sent at once, gets a token of its own.
  const LockDocument* document = shown(reply);
  const bool ours_now = reply.outcome == Outcome::done && document != nullptr && !reply.retried &&
                        document->lock_id == lock_id(call, attempt.beat);
  if (ours_now) return AttemptAnswer::won;
  return reply.permanent ? AttemptAnswer::permanent : AttemptAnswer::unanswered;
}

/// Only the first is repeated at once: a server that answers nothing is not asked ever faster.
bool Attempts::learn_from_failure(SessionId id, const Reply& reply, bool unanswered) {
  AcquireCall& call = at(id);
  const auto kind = unanswered ? ErrorKind::unknown_outcome : ErrorKind::unavailable;
  call.last_failure = {kind, reply.code, reply.message};
  const bool first = unanswered && call.unanswered == 0;
  if (unanswered) ++call.unanswered;
  return first;
}

/// The wait counts from here, not from the call: behind others of this process it learned nothing
/// of how long the lock takes to get.
void Attempts::contend(SessionId id, LocalInstant at_latest, bool stream_open,
                       PendingCommands& pending, Step step) {
  AcquireCall& call = at(id);
  LEASEHOLD_CHECK(call.in<Queued>());
  call.contends_since = step.now;
  wait(id, first_attempt_at(call, at_latest, stream_open, step), pending, step);
}

/// It keeps the pace of who left: those who give up do not make the others ask more often. But what
/// is left of that pause was another call's, maybe a minute: its own strategy may be quicker, and
/// it must not end unasked, for the lock may be free. Half of its time is left for the reply.
LocalInstant Attempts::first_attempt_at(AcquireCall& call, LocalInstant at_latest, bool stream_open,
                                        Step step) const {
  if (at_latest <= step.now) return at_latest;
  const auto at = std::min(at_latest, next_attempt_at(call, true, stream_open, step));
  return call.give_up_at ? std::min(at, step.now + (*call.give_up_at - step.now) / 2) : at;
}

bool Attempts::learn_from_refusal(SessionId id, const PendingCommand& attempt, const Reply& reply,
                                  Step step) {
  AcquireCall& call = at(id);
  call.last_failure = {ErrorKind::refused, reply.code, "held by another"};
  // Learned before anything else changes: the strategy sees the call as it made the attempt.
  learn(call, false, step);
  if (reply.documents.empty()) return false;
  const LockDocument& document = reply.documents.front();
  call.last_failure.message = holder_of(document);
  if (!document.corruption.empty() && !call.corruption_reported) {
    call.corruption_reported = true;
    step.out.push_back(Warned{"lock '" + call.name + "': " + call.last_failure.message +
                              "; it counts as held until it is deleted by hand"});
  }
  // After the warning: a corrupt document has no lockId of ours, and is forgotten here.
  observations_.see(call.name, document.lock_id, step.now);
  if (call.queues()) call.place.shown(document, call.owner, reply.operation_time, step.now);
  const auto dead = observations_.presumed_dead(call.name, step.now, call.options.max_drift);
  return dead && dead != attempt.observed;
}

void Attempts::learn_from_win(SessionId id, Step step) { learn(at(id), true, step); }

/// Each kind of pace is kept by itself: another strategy may be waiting for the same name.
void Attempts::learn(const AcquireCall& call, bool won, Step step) {
  // One whose turn comes by the queue says nothing of how often to ask.
  if (call.place.awaits_news) return;
  const auto next = call.options.waiting->next_pace(seen_by(call, !won, step), won);
  paces_.keep(call.name, next, step.now);
  const StreamListener* listener = call.listener();
  if (listener == nullptr) return;
  release_paces_.keep(call.name, listener->next_release_pace(heard_by(call, step), won), step.now);
}

/// A release that was reported while the attempt was under way may be the one that it came too
/// early for: it is acted on now.
void Attempts::wait_after_refusal(SessionId id, FencingToken refused_at, bool at_once,
                                  bool stream_open, PendingCommands& pending, Step step) {
  AcquireCall& call = at(id);
  const bool counts = call.listener() != nullptr && !call.waits_since;
  if (counts) call.waits_since = refused_at;
  const bool freed = std::exchange(call.freed_meanwhile, false);
  call.woken = false;
  wait(id, at_once ? step.now : next_attempt_at(call, true, stream_open, step), pending, step);
  if (freed && !at_once) wake(id, pending, step);
}

/// As the strategy says, like a refusal: without an answer nobody knows whether the lock is free.
void Attempts::wait_after_failure(SessionId id, bool at_once, bool stream_open,
                                  PendingCommands& pending, Step step) {
  wait(id, at_once ? step.now : next_attempt_at(at(id), false, stream_open, step), pending, step);
}

void Attempts::wake(SessionId id, PendingCommands& pending, Step step) {
  AcquireCall& call = at(id);
  // It cannot be woken twice at once; the answer decides whether the news still matter.
  if (call.in<Attempting>()) call.freed_meanwhile = true;
  const Waiting* waiting = call.in<Waiting>();
  if (waiting == nullptr) return;
  LEASEHOLD_CHECK(call.listener() != nullptr);
  const auto turn = call.listener()->turn(heard_by(call, step), step.entropy.draw());
  // Later than it was to be too, when others were quicker; never later than the safety net.
  if (step.now + turn >= waiting->poll_at) return;
  call.woken = true;
  plan(id, {.attempt_at = step.now + turn, .poll_at = waiting->poll_at}, pending, step);
}

AcquireCall* Attempts::find_listening(SessionId id) {
  AcquireCall* call = find(id);
  return call != nullptr && call->wants_releases() ? call : nullptr;
}

/// Linear in the calls, like the next: asked once a reply of the stream, never once a lock.
bool Attempts::anyone_listens() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return listens(entry.second); });
}

/// When nobody waits, the next who does will ask for what has come until then.
Duration Attempts::nearest_turn(Step step) const {
  std::optional<Duration> nearest;
  for (const auto& [id, call] : calls_) {
    const auto one = turn(call, step);
    if (one) nearest = std::min(nearest.value_or(*one), *one);
  }
  return nearest.value_or(kStreamLull);
}

/// How long it leaves a lock to others that has just been released; none: it does not act on news
/// now. With no randomness, for it is asked often: simulated runs must not depend on how often.
std::optional<Duration> Attempts::turn(const AcquireCall& call, Step step) const {
  if (!listens(call)) return std::nullopt;
  // The news of a grant are for one call, which acts on them at once.
  if (call.place.stands()) return Duration(0);
  // Whose attempt is under way reads on once it is refused.
  const Waiting* waiting = call.in<Waiting>();
  if (waiting == nullptr || !call.wants_releases()) return std::nullopt;
  if (call.woken && waiting->attempt_at <= step.now + kStreamSoon) return std::nullopt;
  return call.listener()->turn(heard_by(call, step), 0);
}

/// What the dead owner's requests may still do is the clean-up's business from here on.
void Attempts::replace_owner(SessionId id, Step step) {
  AcquireCall& call = at(id);
  call.owner = draw_owner(call, step);
  call.unanswered = 0;
  call.place = {};
}

Owner Attempts::draw_owner(const AcquireCall& call, Step step) {
  return call.queues() ? owners_.of_provider(step) : fresh_owner(step);
}

/// When the strategy says, or when the holder that was seen is presumed dead if that comes first: a
/// crashed holder costs one lease and not one pause more.
LocalInstant Attempts::next_attempt_at(AcquireCall& call, bool refused, bool stream_open,
                                       Step step) const {
  const StreamListener* listener = stream_open ? call.listener() : nullptr;
  const auto random = step.entropy.draw();
  call.place.awaits_news = stream_open && call.place.stands();
  if (call.place.awaits_news) {
    call.last_pause = renewal_of(call, step.now);
  } else if (listener != nullptr) {
    call.last_pause = listener->pause(random);
  } else {
    call.last_pause = call.options.waiting->pause(seen_by(call, refused, step), random);
  }
  const auto at = step.now + call.last_pause;
  const auto dead_at = observations_.presumed_dead_at(call.name, call.options.max_drift);
  return dead_at && *dead_at > step.now ? std::min(at, *dead_at) : at;
}

/// Before the first attempt of a head that was queued it counts as one: pauses grow with it.
AttemptSeen Attempts::seen_by(const AcquireCall& call, bool refused, Step step) const {
  return {.attempts = std::max(call.attempts, 1),
          .refused = refused,
          .waited = step.now - call.contends_since,
          .pace = paces_.pace(call.name),
          .last_pause = call.last_pause,
          .full_queue_lasts = call.place.full_queue_lasts()};
}

/// Its own releases and the name's pace: how many more it lacks is for the listener to say.
ReleasesHeard Attempts::heard_by(const AcquireCall& call, Step step) const {
  return {.releases = call.releases,
          .woken = call.woken,
          .waited = step.now - call.contends_since,
          .pace = release_paces_.pace(call.name)};
}

std::string Attempts::lock_id(const AcquireCall& call, std::uint64_t beat) const {
  return format_lock_id({call.owner, call.options.expiry.count(), beat}, holder_);
}

void Attempts::mix_into(HashMixer& hash) const {
  for (const auto& [id, call] : calls_) {
    hash.mix(id << 3 | call.phase.index());
    hash.mix(static_cast<std::uint64_t>(call.unanswered));
    hash.mix(call.place.stands() ? call.place.before() + 1 : 0);
    if (const auto* attempting = call.in<Attempting>()) hash.mix(attempting->command);
    if (const auto* waiting = call.in<Waiting>()) hash.mix(waiting->attempt_at);
  }
}

}  // namespace leasehold::core
