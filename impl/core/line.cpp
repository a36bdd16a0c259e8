#include <algorithm>

#include "core/check.hpp"
#include "core/limits.hpp"
#include "core/provider_core.hpp"

/// The queue of each name inside this process, and how a lock passes along it.
namespace leasehold::core {

/// Whether it is its turn at once.
bool ProviderCore::join_line(SessionId id, Session& session) {
  Line& line = lines_[session.name];
  if (line.front == 0) {
    line.front = id;
    return true;
  }
  session.phase = Session::Phase::queued;
  line.behind.push_back(id);
  return false;
}

/// The line that this session is the first of; null: none, as for a single attempt.
ProviderCore::Line* ProviderCore::line_led_by(SessionId id, const Session& session) {
  const auto found = lines_.find(session.name);
  return found != lines_.end() && found->second.front == id ? &found->second : nullptr;
}

/// Whoever was behind contends from now on, with a first attempt at that time at the latest.
void ProviderCore::leave_line(const std::string& name, SessionId id, LocalInstant at_latest,
                              Step step) {
  const auto found = lines_.find(name);
  if (found == lines_.end()) return;
  Line& line = found->second;
  if (line.front == id) {
    line.front = 0;
  } else {
    std::erase(line.behind, id);
  }
  if (line.front != 0) return;
  if (line.behind.empty()) {
    lines_.erase(found);
    return;
  }
  if (closed_) return;  // nobody comes after; those behind are about to end
  line.front = line.behind.front();
  line.behind.pop_front();
  Session& next = sessions_.at(line.front);
  next.contends_since = step.now;
  wait(line.front, first_attempt_of_next(next, at_latest, step), step);
}

/// It keeps the pace of who left: those who give up do not make the others ask more often. But what
/// is left of that pause was another call's, maybe a minute: its own strategy may be quicker, and
/// it must not end unasked, for the lock may be free. Half of its time is left for the reply.
LocalInstant ProviderCore::first_attempt_of_next(Session& next, LocalInstant at_latest,
                                                 Step step) const {
  if (at_latest <= step.now) return at_latest;
  const auto at = std::min(at_latest, next_attempt_at(next, true, step));
  return next.give_up_at ? std::min(at, step.now + (*next.give_up_at - step.now) / 2) : at;
}

/// A release without hand-over ends the row of holdings of this process.
void ProviderCore::end_row(SessionId id, const Session& session, Step step) {
  if (Line* line = line_led_by(id, session)) line->row = step.now - line->row_since;
}

/// Who gets the lock that this session holds when it releases now; 0: nobody of this process.
SessionId ProviderCore::receiver_after(SessionId id, const Session& session) const {
  const auto found = lines_.find(session.name);
  if (found == lines_.end() || closed_ || session.phase != Session::Phase::held) return 0;
  // After an attempt that was never answered the owner has to be deleted, and once more.
  if (session.unanswered > 0) return 0;
  if (session.handed_on >= session.options.hand_overs_in_a_row) return 0;
  const Line& line = found->second;
  if (line.front == id) return line.behind.empty() ? 0 : line.behind.front();
  // A single attempt won past the line: its first may be between two attempts.
  const bool waits = sessions_.at(line.front).phase == Session::Phase::waiting;
  return waits ? line.front : 0;
}

/// The old handle has ended: the lock goes from its owner to the receiver's in one command.
void ProviderCore::hand_over(Removal removal, SessionId to, int in_a_row, Step step) {
  Line& line = lines_.at(removal.name);
  if (line.front != to) {
    line.front = to;
    line.behind.pop_front();
  }
  Session& receiver = sessions_.at(to);
  if (receiver.phase == Session::Phase::waiting) clear_timer(Timer::Kind::attempt, to, step);
  receiver.phase = Session::Phase::receiving;
  receiver.handed_on = in_a_row;
  removal.or_owner = receiver.owner;
  removal.receiver = to;
  removal.timeout = std::min(removal.timeout, receiver.options.effective_operation_timeout());
  receiver.hand_over = start_removal(std::move(removal), step);
}

void ProviderCore::send_hand_over(RemovalId id, Removal& removal, Step step) {
  LEASEHOLD_CHECK(removal.command == 0);
  const Session& receiver = sessions_.at(removal.receiver);
  const std::uint64_t beat = ++last_beat_;
  HandOverCommand command{removal.receiver,
                          removal.name,
                          removal.owner,
                          receiver.owner,
                          lock_id(receiver, beat),
                          receiver.options.expiry,
                          receiver.options.clock_margin};
  removal.command = send({.kind = Flight::Kind::hand_over, .removal = id, .beat = beat},
                         removal.timeout, std::move(command), step);
}

void ProviderCore::answer_hand_over(const Flight& flight, const Reply& reply, Step step) {
  const RemovalId id = flight.removal;
  Removal& removal = removals_.at(id);
  removal.command = 0;
  const bool first_unknown = reply.outcome == Outcome::unknown && !removal.doubtful;
  removal.doubtful |= reply.outcome == Outcome::unknown;
  // An old primary, cut off before the giver won, finds nothing of what was written since.
  const bool nothing = reply.outcome == Outcome::done && reply.documents.empty() &&
                       !reply.is_before(removal.won);
  if (removal.receiver == 0) {  // it gave up; nobody has the lock, and both owners have to go
    return send_delete(id, removal, step);
  }
  if (nothing) {
    const auto giver = removal.doubtful ? ReleaseResult::unknown : ReleaseResult::not_owner;
    return contend_for_itself(id, giver, removal.doubtful, step);
  }
  const SessionId to = removal.receiver;
  const bool given = reply.outcome == Outcome::done && !reply.documents.empty() &&
                     !reply.retried && reply.documents.front().lock_id == lock_id(sessions_.at(to), flight.beat);
  if (given) {
    report(id, ReleaseResult::released, step);
    removals_.erase(id);
    sessions_.at(to).phase = Session::Phase::attempting;  // nothing is handed over any more
    return win(to, flight, reply, step);
  }
  if (reply.outcome == Outcome::configuration || reply.hopeless) {
    return end_acquire(to, {ErrorKind::configuration, reply.code, reply.message}, step);
  }
  if (step.now >= removal.stop_at) {
    return contend_for_itself(id, ReleaseResult::unknown, true, step);
  }
  // The first time at once: sent again it finds what it may have written.
  if (first_unknown) return send_hand_over(id, removal, step);
  pause_removal(id, removal, pause_after_failure(removal, step.now), step);
}

/// There was nothing to hand over, or nobody can tell: the receiver makes attempts of its own.
void ProviderCore::contend_for_itself(RemovalId id, ReleaseResult giver, bool unsure, Step step) {
  const SessionId to = removals_.at(id).receiver;
  report(id, giver, step);
  removals_.erase(id);
  Session& session = sessions_.at(to);
  session.contends_since = step.now;
  if (unsure) ++session.unanswered;
  wait(to, step.now, step);
}

/// A document of this process is gone for certain. Who waits here tries at once, unless another
/// process wants the lock too: then that one gets its turn, for a pause, and for no longer than
/// this process had the lock. Others with long pauses would leave it idle.
void ProviderCore::freed(const std::string& name, Step step) {
  const auto found = lines_.find(name);
  if (found == lines_.end() || found->second.front == 0) return;
  const Line& line = found->second;
  const Session& front = sessions_.at(line.front);
  if (front.phase != Session::Phase::waiting) return;
  const bool rival = line.rival_seen && step.now - *line.rival_seen < kRivalMemory;
  const auto turn = step.now + (rival ? line.row : Duration(0));
  if (turn < front.attempt_at) wait(line.front, turn, step);
}

}  // namespace leasehold::core
