#include <algorithm>
#include <utility>

#include "core/acquire/attempt_answer.hpp"
#include "core/check.hpp"
#include "core/release/departures.hpp"

/// What departures send, and what an answer says of them.
namespace leasehold::core {
namespace {

/// From the shortest first pause, 10 ms, to the longest: beyond it `1 << failures` would overflow
/// some day and change nothing.
constexpr int kMostDoublings = 9;

}  // namespace

/// The caller has a command under way for it, or sends one. The report timer comes first: even a
/// command that is never answered must not keep the releaser waiting for longer than one operation.
DepartureId Departures::add(DepartureId id, Departure departure, Step step) {
  if (departure.reporting) set_timer(Timer::Kind::report, id, step.now + departure.timeout, step);
  const bool is_new = departures_.emplace(id, std::move(departure)).second;
  LEASEHOLD_CHECK(is_new && id <= last_);
  return id;
}

void Departures::start(Departure departure, SendingStep step) {
  send(add(new_id(), std::move(departure), step), step);
}

void Departures::send(DepartureId id, SendingStep step) {
  Departure& departure = departures_.at(id);
  LEASEHOLD_CHECK(departure.command == 0);
  if (!step.pending.may_send()) {
    departure.next_at = step.now;
    return step.pending.stand_in_line({Timer::Kind::departure, id}, step.now);
  }
  if (!departure.receiver) {
    departure.command =
        step.pending.send({.kind = PendingCommand::Kind::departure, .departure = id},
                          departure.timeout, departure.delete_command(), step);
    return;
  }
  // Each execution has a beat of its own: the document then says which of them it is of.
  const std::uint64_t beat = step.pending.next_beat();
  departure.command = step.pending.send(
      {.kind = PendingCommand::Kind::hand_over,
       .sessions = {departure.receiver->session},
       .departure = id,
       .beat = beat},
      departure.timeout, departure.hand_over_command(departure.receivers_lock_id(beat, holder_)),
      step);
  departure.receiver->sent = true;
}

/// Sends the command now, though it waits for its timer. One that waits for a slot keeps its place
/// in the line: at its end, others that are due later would go before it.
void Departures::send_now(DepartureId id, SendingStep step) {
  const Timer timer{Timer::Kind::departure, id};
  if (step.pending.stands_in_line(timer, departures_.at(id).next_at)) return;
  clear_timer(timer.kind, id, step);
  send(id, step);
}

/// The receiver ends: the delete of both owners follows. A command under way goes on, because it
/// would be unknown what a cut one did; its answer is for the delete alone. If none was sent, the
/// receiver has nothing to delete; otherwise the receiver's lease may begin as late as now.
void Departures::stop_hand_over(DepartureId id, SendingStep step) {
  Departure& departure = departures_.at(id);
  LEASEHOLD_CHECK(departure.receiver);
  if (departure.receiver->sent) {
    departure.give_up_at =
        std::max(departure.give_up_at, two_leases_from(step.now, departure.receiver->expiry));
  } else {
    departure.or_owner.reset();
  }
  departure.receiver.reset();
  if (departure.command == 0) return send_now(id, step);
  step.pending.at(departure.command).sessions.clear();
}

/// Only a certain refusal leaves nothing; what was certainly not executed leaves nothing either.
/// What is unknown is taken for a win. Nothing is deleted before the answer: a delete that
/// overtakes the attempt would find nothing, and the attempt would then win a lock for a call that
/// has ended.
void Departures::answered_attempt(DepartureId id, const Reply& reply, SendingStep step) {
  Departure& departure = departures_.at(id);
  LEASEHOLD_CHECK(departure.awaits_attempt);
  const bool executed = reply.outcome == Outcome::done || reply.outcome == Outcome::unknown;
  const bool may_have_won = executed && !refuses(reply, departure.owner);
  // A refused one of a call that queues has left an entry.
  const bool queued = departure.by == Departure::By::pass_on;
  if (!may_have_won && !departure.outcome_uncertain && !queued) {
    departures_.erase(id);
    return;
  }
  departure.awaits_attempt = false;
  // A request that was never answered may arrive after the delete and win then.
  departure.resend = departure.outcome_uncertain || reply.outcome != Outcome::done;
  if (queued) departure.known_at = std::max(departure.known_at, reply.operation_time);
  departure.outcome_uncertain = false;
  departure.command = 0;
  send(id, step);
}

/// Without its receiver, both owners have to go, whatever the hand-over did.
std::optional<Departures::HandedOver> Departures::answered_hand_over(const PendingCommand& command,
                                                                     const Reply& reply,
                                                                     SendingStep step) {
  const DepartureId id = command.departure;
  Departure& departure = departures_.at(id);
  LEASEHOLD_CHECK(departure.command == command.id && departure.or_owner);
  departure.command = 0;
  if (departure.receiver) return hand_over_answered(command, reply, step);
  departure.outcome_uncertain |= reply.outcome == Outcome::unknown;
  send(id, step);
  return std::nullopt;
}

/// Without an answer it is sent again, at an even pace, because the receiver waits for it.
///
/// INVARIANT: `given` only with the time of the write that gave. The receiver's token is that time,
/// and a token of another write could be below one that was granted since.
Departures::HandedOver Departures::hand_over_answered(const PendingCommand& command,
                                                      const Reply& reply, SendingStep step) {
  const DepartureId id = command.departure;
  Departure& giver = departures_.at(id);
  LEASEHOLD_CHECK(command.sessions.front() == giver.receiver->session);
  // After a missing reply, "nothing there" may be the effect of that very command.
  const bool first_unknown = reply.outcome == Outcome::unknown && !giver.outcome_uncertain;
  giver.outcome_uncertain |= reply.outcome == Outcome::unknown;
  // An old primary, cut off before the giver won, finds nothing of what was written since.
  const bool nothing =
      reply.outcome == Outcome::done && reply.documents.empty() && !reply.is_before(giver.known_at);
  if (nothing) {
    const bool unclear = giver.outcome_uncertain;
    hand_over_ended(id, unclear ? ReleaseResult::unknown : ReleaseResult::not_owner, step);
    return unclear ? HandedOver::unclear : HandedOver::nothing;
  }
  // As for an attempt: only the document with this very beat shows that this execution gave it.
  const bool given =
      reply.outcome == Outcome::done && !reply.documents.empty() && !reply.retried &&
      reply.documents.front().lock_id == giver.receivers_lock_id(command.beat, holder_);
  if (given) {
    hand_over_ended(id, ReleaseResult::released, step);
    return HandedOver::given;
  }
  if (reply.outcome == Outcome::configuration || reply.permanent) return HandedOver::cannot_succeed;
  // By now the document has expired, if it is there: any attempt may have it.
  if (step.now >= giver.give_up_at) {
    hand_over_ended(id, ReleaseResult::unknown, step);
    return HandedOver::unclear;
  }
  // The first time at once, as after an attempt without an answer: most often it was executed.
  if (first_unknown) {
    send(id, step);
  } else {
    pause(id, giver.pause_after_failure(step.now), step);
  }
  return HandedOver::waits;
}

/// What is left, if anything, is for the giver alone.
void Departures::hand_over_ended(DepartureId id, ReleaseResult result, Step step) {
  report(id, result, step);
  Departure& giver = departures_.at(id);
  giver.receiver.reset();
  giver.or_owner.reset();
  acknowledged(id, step);
}

/// A pass-on shows the document as it was before, and with it the calls that waited then.
std::optional<std::string> Departures::answered_delete(const PendingCommand& command,
                                                       const Reply& reply, SendingStep step) {
  const std::string name = departures_.at(command.departure).name;
  if (!reply.documents.empty()) see(name, reply.documents.front(), step.now);
  if (!delete_answered(command, reply, step)) return std::nullopt;
  return name;
}

/// A delete without an acknowledgement is repeated even if it was executed: a primary that steps
/// down may lose it, and with it the release.
bool Departures::delete_answered(const PendingCommand& command, const Reply& reply,
                                 SendingStep step) {
  const DepartureId id = command.departure;
  Departure& departure = departures_.at(id);
  LEASEHOLD_CHECK(departure.command == command.id && !departure.awaits_attempt);
  departure.command = 0;
  // No right to delete, say: to try again cannot succeed. The document expires by itself.
  if (reply.outcome == Outcome::configuration) {
    report(id, ReleaseResult::unknown, step);
    step.out.push_back(Warned{"lock '" + departure.name + "' cannot be deleted: " + reply.message});
    departures_.erase(id);
    return false;
  }
  const bool left = departure.has_left(reply);
  // An old primary, cut off before, does not know the document or the entry: that is no answer.
  if (reply.outcome != Outcome::done || (!left && reply.is_before(departure.known_at))) {
    departure.outcome_uncertain |= reply.outcome == Outcome::unknown;
    retry(id, step);
    return false;
  }
  if (!left && departure.by == Departure::By::deletion_unless_queued) {
    departure.by = Departure::By::pass_on;
    send(id, step);
    return false;
  }
  // Nothing matched after a delete without an answer: that one may have been it.
  const auto nothing =
      departure.outcome_uncertain ? ReleaseResult::unknown : ReleaseResult::not_owner;
  report(id, left ? ReleaseResult::released : nothing, step);
  acknowledged(id, step);
  return left;
}

/// From here on it is not waited for at the end of a provider: what is left is a precaution.
void Departures::acknowledged(DepartureId id, Step step) {
  Departure& departure = departures_.at(id);
  departure.acknowledged = true;
  if (!departure.resend) {
    departures_.erase(id);
    return;
  }
  departure.resend = false;
  pause(id, departure.timeout, step);
}

/// Whether a delete of this owner goes on: it sends its command now, or once more, because one in
/// flight may predate the grant, whose lease begins by now. Its answer stays the one that is
/// reported.
bool Departures::granted_since(Owner owner, LocalInstant give_up_at, SendingStep step) {
  const auto found = std::ranges::find_if(departures_, [owner](const auto& d) {
    const Departure& departure = d.second;
    return !departure.receiver && (departure.owner == owner || departure.or_owner == owner);
  });
  if (found == departures_.end()) return false;
  auto& [id, departure] = *found;
  departure.give_up_at = std::max(departure.give_up_at, give_up_at);
  if (departure.command != 0) {
    departure.resend = true;
  } else {
    // If this brings a resend forward, another one follows after a pause.
    departure.resend |= departure.acknowledged;
    send_now(id, step);
  }
  return true;
}

/// A number that is not known is of one that is over: a timer may fire late. With a command under
/// way its answer says what follows. A delete that has waited in line until its document is free is
/// not sent: servers that were away would be met by the deletes of that time. One more after an
/// answer is sent, because a late request may have won since.
void Departures::due(DepartureId id, bool waited_in_line, SendingStep step) {
  const auto found = departures_.find(id);
  if (found == departures_.end()) return;
  const Departure& departure = found->second;
  if (departure.command != 0 || step.now < departure.next_at) return;
  const bool too_late = waited_in_line && !departure.receiver && !departure.acknowledged &&
                        step.now >= departure.give_up_at;
  if (too_late) return end(id, ReleaseResult::unknown, step);
  send(id, step);
}

void Departures::pause(DepartureId id, Duration pause, Step step) {
  Departure& departure = departures_.at(id);
  LEASEHOLD_CHECK(departure.command == 0);
  departure.next_at = step.now + pause;
  set_timer(Timer::Kind::departure, id, departure.next_at, step);
}

/// Repeats the delete for two leases and no longer: by then the document frees itself, and a server
/// that was away for hours is not met by all the deletes of those hours.
void Departures::retry(DepartureId id, Step step) {
  Departure& departure = departures_.at(id);
  if (step.now >= departure.give_up_at) return end(id, ReleaseResult::unknown, step);
  const auto span = departure.pause_after_failure(step.now);
  departure.failures = std::min(departure.failures + 1, kMostDoublings);
  pause(id, span, step);
}

/// Only the answer is given up: the delete goes on without its caller, and a hand-over for the sake
/// of its receiver.
void Departures::report_unknown(DepartureId id, Step step) {
  if (departures_.contains(id)) report(id, ReleaseResult::unknown, step);
}

/// Notifies the session that waits for the result, once: if that got "unknown" already, no session
/// waits any more.
void Departures::report(DepartureId id, ReleaseResult result, Step step) {
  Departure& departure = departures_.at(id);
  if (!departure.reporting) return;
  clear_timer(Timer::Kind::report, id, step);
  step.out.push_back(Released{*departure.reporting, departure.name, departure.known_at, result});
  departure.reporting.reset();
}

void Departures::end(DepartureId id, ReleaseResult result, Step step) {
  report(id, result, step);
  departures_.erase(id);
}

}  // namespace leasehold::core
