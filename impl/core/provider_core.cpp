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
  if (event.single_attempt || join_queue(event.session, session)) {
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
  Cleanup cleanup = make_cleanup(session, step);
  cleanup.reporting = event.session;
  const SessionId receiver = receiver_after(event.session, session);
  if (receiver != 0) {
    const int in_a_row = session.handed_on + 1;
    sessions_.erase(found);
    return hand_over(std::move(cleanup), receiver, in_a_row, step);
  }
  end_tenure(event.session, session, step);
  sessions_.erase(found);
  leave_queue(cleanup.name, event.session, LocalInstant::max(), step);
  start_cleanup(std::move(cleanup), step);
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
  const auto found = pending_.find(event.command);
  if (found == pending_.end()) return;
  const PendingCommand pending = std::move(found->second);
  pending_.erase(found);
  clear_timer(Timer::Kind::command_timeout, event.command, step);
  switch (pending.kind) {
    case PendingCommand::Kind::attempt: return answer_attempt(pending, event.reply, step);
    case PendingCommand::Kind::extension: return answer_extension(pending, event.reply, step);
    case PendingCommand::Kind::read_holders: return answer_read_holders(pending, event.reply, step);
    case PendingCommand::Kind::cleanup: return answer_delete(pending, event.reply, step);
    case PendingCommand::Kind::hand_over: return answer_hand_over(pending, event.reply, step);
    case PendingCommand::Kind::index: return answer_index(event.reply, step);
    case PendingCommand::Kind::stream: return answer_stream(event.command, event.reply, step);
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
      if (!pending_.contains(id)) return;
      step.out.push_back(Abandon{id});
      return on(ReplyArrived{id, {.message = "no reply within the operation timeout"}}, step);
    case Timer::Kind::extension_round:
      if (round_at_ && step.now >= *round_at_) run_extension_round(step);
      return;
    case Timer::Kind::cleanup: {
      const auto cleanup = cleanups_.find(id);
      if (cleanup == cleanups_.end() || cleanup->second.command != 0) return;
      if (step.now >= cleanup->second.next_at) send_cleanup(id, cleanup->second, step);
      return;
    }
    case Timer::Kind::report:
      if (cleanups_.contains(id)) report(id, ReleaseResult::unknown, step);
      return;
    case Timer::Kind::stream: return stream_due(step);
  }
}

CommandId ProviderCore::send(PendingCommand pending, std::chrono::milliseconds timeout,
                             decltype(Command::body) body, Step step) {
  const CommandId id = ++last_command_;
  pending.sent = step.now;
  pending_.emplace(id, std::move(pending));
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

std::size_t ProviderCore::cleanups_left() const {
  return static_cast<std::size_t>(std::count_if(
      cleanups_.begin(), cleanups_.end(), [](const auto& r) { return !r.second.acknowledged; }));
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
  for (const auto& [id, cleanup] : cleanups_) {
    mix(id << 3 | (cleanup.outcome_uncertain ? 1u : 0u) | (cleanup.resend ? 2u : 0u) |
        (cleanup.acknowledged ? 4u : 0u));
    mix(cleanup.command);
    mix_time(cleanup.next_at);
  }
  for (const auto& [id, pending] : pending_) {
    mix(id);
    mix_time(pending.sent);
  }
  mix(last_command_ << 32 | last_beat_);
  return h ^ h >> 32;
}

}  // namespace leasehold::core
