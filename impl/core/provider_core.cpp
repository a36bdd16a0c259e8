#include "core/provider_core.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace leasehold::core {

void ProviderCore::next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out) {
  std::visit([&](const auto& e) { on(e, Step{now, entropy, out}); }, event);
}

void ProviderCore::on(const AcquireAsked& event, Step step) {
  LEASEHOLD_CHECK(!sessions_.contains(event.session));
  if (closed_) {
    step.out.push_back(Ended{event.session, {ErrorKind::shut_down, 0, "the provider is closed"}});
    return;
  }
  Session& session = sessions_[event.session];
  session.name = event.name;
  session.options = event.options;
  session.give_up_at = event.give_up_at;
  session.single_attempt = event.single_attempt;
  session.owner = fresh_owner(step);
  if (event.give_up_at) {
    step.out.push_back(SetTimer{{Timer::Kind::give_up, event.session}, *event.give_up_at});
  }
  session.contends_since = step.now;
  if (event.single_attempt || join_line(event.session, session)) {
    start_attempt(event.session, session, step);
  }
}

void ProviderCore::on(const CancelAsked& event, Step step) {
  give_up(event.session, ErrorKind::cancelled, "cancelled", step);
}

void ProviderCore::on(const ReleaseAsked& event, Step step) {
  const auto found = sessions_.find(event.session);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  if (session.phase != Session::Phase::held && session.phase != Session::Phase::lost) return;
  clear_timer(Timer::Kind::lease_end, event.session, step);
  Removal removal = make_removal(session, step);
  removal.reporting = event.session;
  const SessionId receiver = receiver_after(event.session, session);
  if (receiver != 0) {
    const int in_a_row = session.handed_on + 1;
    sessions_.erase(found);
    return hand_over(std::move(removal), receiver, in_a_row, step);
  }
  end_row(event.session, session, step);
  sessions_.erase(found);
  leave_line(removal.name, event.session, LocalInstant::max(), step);
  start_removal(std::move(removal), step);
}

void ProviderCore::on(const DeadlineSeen& event, Step step) { run_out(event.session, step); }

void ProviderCore::on(const CloseAsked&, Step step) {
  closed_ = true;
  end_stream(step);
  std::vector<SessionId> waiting;
  for (const auto& [id, session] : sessions_) waiting.push_back(id);
  for (const auto id : waiting) {
    give_up(id, ErrorKind::shut_down, "the provider was destroyed", step);
  }
}

void ProviderCore::on(const ReplyArrived& event, Step step) {
  const auto found = flights_.find(event.command);
  if (found == flights_.end()) return;
  const Flight flight = std::move(found->second);
  flights_.erase(found);
  clear_timer(Timer::Kind::command_timeout, event.command, step);
  switch (flight.kind) {
    case Flight::Kind::attempt: return answer_attempt(flight, event.reply, step);
    case Flight::Kind::extension: return answer_extension(flight, event.reply, step);
    case Flight::Kind::look: return answer_look(flight, event.reply, step);
    case Flight::Kind::removal: return answer_delete(flight, event.reply, step);
    case Flight::Kind::hand_over: return answer_hand_over(flight, event.reply, step);
    case Flight::Kind::index: return answer_index(event.reply, step);
    case Flight::Kind::stream: return answer_stream(event.command, event.reply, step);
  }
}

void ProviderCore::on(const TimerFired& event, Step step) {
  const auto id = event.timer.id;
  const auto session = sessions_.find(id);
  switch (event.timer.kind) {
    case Timer::Kind::attempt:
      if (session != sessions_.end() && session->second.phase == Session::Phase::waiting &&
          step.now >= session->second.attempt_at) {
        start_attempt(id, session->second, step);
      }
      return;
    case Timer::Kind::give_up:
      if (session != sessions_.end() && session->second.give_up_at &&
          step.now >= *session->second.give_up_at) {
        give_up(id, ErrorKind::timed_out, "timed out", step);
      }
      return;
    case Timer::Kind::lease_end:
      if (session == sessions_.end() || session->second.phase != Session::Phase::held) return;
      if (step.now >= session->second.deadline) return run_out(id, step);
      step.out.push_back(SetTimer{event.timer, session->second.deadline});
      return;
    case Timer::Kind::command_timeout:
      if (!flights_.contains(id)) return;
      step.out.push_back(Abandon{id});
      return on(ReplyArrived{id, {.message = "no reply within the operation timeout"}}, step);
    case Timer::Kind::extension_round:
      if (round_at_ && step.now >= *round_at_) run_extension_round(step);
      return;
    case Timer::Kind::removal: {
      const auto removal = removals_.find(id);
      if (removal == removals_.end() || removal->second.command != 0) return;
      if (step.now >= removal->second.next_at) send_removal(id, removal->second, step);
      return;
    }
    case Timer::Kind::report:
      if (removals_.contains(id)) report(id, ReleaseResult::unknown, step);
      return;
    case Timer::Kind::stream: return stream_due(step);
  }
}

CommandId ProviderCore::send(Flight flight, std::chrono::milliseconds timeout,
                             decltype(Command::body) body, Step step) {
  const CommandId id = ++last_command_;
  flight.sent = step.now;
  flights_.emplace(id, std::move(flight));
  step.out.push_back(Send{{id, timeout, std::move(body)}});
  step.out.push_back(SetTimer{{Timer::Kind::command_timeout, id}, step.now + timeout});
  return id;
}

void ProviderCore::clear_timer(Timer::Kind kind, std::uint64_t id, Step step) {
  step.out.push_back(ClearTimer{{kind, id}});
}

Owner ProviderCore::fresh_owner(Step step) { return {step.entropy.draw(), step.entropy.draw()}; }

std::string ProviderCore::lock_id(const Session& session, std::uint64_t beat) const {
  return format_lock_id({session.owner, session.options.expiry.count(), beat}, holder_);
}

std::size_t ProviderCore::removals_left() const {
  return static_cast<std::size_t>(std::count_if(
      removals_.begin(), removals_.end(), [](const auto& r) { return !r.second.acknowledged; }));
}

/// Of what tells the states of one provider apart best; equality looks at the rest.
std::size_t ProviderCore::hash() const {
  std::size_t h = 0;
  const auto mix = [&h](std::uint64_t value) { h = (h ^ value) * 0x9E3779B97F4A7C15u; };
  const auto mix_time = [&mix](LocalInstant at) {
    mix(static_cast<std::uint64_t>(at.time_since_epoch().count()));
  };
  for (const auto& [id, s] : sessions_) {
    mix(id << 3 | static_cast<std::uint64_t>(s.phase));
    mix(s.command << 16 | static_cast<std::uint64_t>(s.unanswered));
    mix(static_cast<std::uint64_t>(s.token.value()));
    for (const auto at : {s.attempt_at, s.deadline, s.extend_at}) mix_time(at);
  }
  for (const auto& [id, removal] : removals_) {
    mix(id << 3 | (removal.doubtful ? 1u : 0u) | (removal.repeat ? 2u : 0u) |
        (removal.acknowledged ? 4u : 0u));
    mix(removal.command);
    mix_time(removal.next_at);
  }
  for (const auto& [id, flight] : flights_) {
    mix(id);
    mix_time(flight.sent);
  }
  mix(last_command_ << 32 | last_beat_);
  return h ^ h >> 32;
}

}  // namespace leasehold::core
