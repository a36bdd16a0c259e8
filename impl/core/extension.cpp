#include <algorithm>

#include "core/check.hpp"
#include "core/limits.hpp"
#include "core/provider_core.hpp"

namespace leasehold::core {
namespace {

/// How soon to try again after an extension that failed: often within one lease, but not a storm.
Duration retry_pause(const LockOptions& options) {
  return std::clamp<Duration>(options.expiry / 20, std::chrono::milliseconds(10),
                              std::chrono::seconds(1));
}

}  // namespace

/// One whose deadline cannot move any more is left alone.
bool ProviderCore::wants_extension(const Session& session) {
  return session.phase == Session::Phase::held && session.command == 0 &&
         session.deadline < session.ends_at;
}

void ProviderCore::arm_extension_round(LocalInstant at, Step step) {
  if (round_at_ && *round_at_ <= at) return;
  round_at_ = at;
  step.out.push_back(SetTimer{{Timer::Kind::extension_round, 0}, at});
}

void ProviderCore::arm_earliest_extension(Step step) {
  std::optional<LocalInstant> earliest;
  for (const auto& [id, session] : sessions_) {
    if (!wants_extension(session)) continue;
    if (!earliest || session.extend_at < *earliest) earliest = session.extend_at;
  }
  if (earliest) arm_extension_round(*earliest, step);
}

/// Renews what is due, and what will be due within half a cadence: handles that were taken at
/// different times fall into step, and a round costs few commands.
void ProviderCore::run_extension_round(Step step) {
  round_at_.reset();
  lose_what_is_over(step);
  const bool any_due = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    const Session& session = entry.second;
    return wants_extension(session) && session.extend_at <= step.now;
  });
  if (!any_due) return arm_earliest_extension(step);
  std::vector<SessionId> alone, together;
  for (const auto& [id, session] : sessions_) {
    if (!wants_extension(session)) continue;
    const bool short_lease = session.options.expiry < kAloneBelow;
    const Duration early = short_lease ? Duration(0) : session.options.effective_cadence() / 2;
    if (session.extend_at > step.now + early) continue;
    (short_lease ? alone : together).push_back(id);
  }
  for (const auto id : alone) send_extension({id}, step);
  std::sort(together.begin(), together.end(), [this](SessionId a, SessionId b) {
    return sessions_.at(a).deadline < sessions_.at(b).deadline;
  });
  for (std::size_t i = 0; i < together.size(); i += kMaxBatch) {
    const auto end = std::min(together.size(), i + kMaxBatch);
    send_extension({together.begin() + static_cast<std::ptrdiff_t>(i),
                    together.begin() + static_cast<std::ptrdiff_t>(end)},
                   step);
  }
  arm_earliest_extension(step);
}

/// After a pause of the process a round may come before the ends of leases that passed meanwhile:
/// what is over is lost, never extended.
void ProviderCore::lose_what_is_over(Step step) {
  std::vector<SessionId> over;
  for (const auto& [id, session] : sessions_) {
    if (session.phase == Session::Phase::held && step.now >= session.deadline) over.push_back(id);
  }
  for (const auto id : over) run_out(id, step);
}

void ProviderCore::send_extension(const std::vector<SessionId>& ids, Step step) {
  const std::uint64_t beat = ++last_beat_;
  ExtendCommand command;
  command.statements.reserve(ids.size());
  auto timeout = std::chrono::milliseconds::max();
  for (const auto id : ids) {
    const Session& session = sessions_.at(id);
    timeout = std::min(timeout, session.options.effective_operation_timeout());
    command.statements.push_back({id, session.name, session.owner, session.acquired_at,
                                  lock_id(session, beat), session.options.expiry,
                                  session.options.clock_margin, session.token});
  }
  const auto sent = send({.kind = PendingCommand::Kind::extension, .sessions = ids, .beat = beat},
                         timeout, std::move(command), step);
  for (const auto id : ids) sessions_.at(id).command = sent;
}

/// The session whose extension was just answered, if it still believes; its command slot is freed.
ProviderCore::Session* ProviderCore::extending(SessionId id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return nullptr;
  found->second.command = 0;
  return found->second.phase == Session::Phase::held ? &found->second : nullptr;
}

void ProviderCore::answer_extension(const PendingCommand& pending, const Reply& reply, Step step) {
  std::vector<SessionId> judged;
  for (std::size_t i = 0; i < pending.sessions.size(); ++i) {
    const bool failed =
        reply.outcome != Outcome::done ||
        std::find(reply.failed.begin(), reply.failed.end(), i) != reply.failed.end();
    if (failed) {
      retry_extension(pending.sessions[i], step);
    } else {
      judged.push_back(pending.sessions[i]);
    }
  }
  const auto matched = static_cast<std::size_t>(std::max<std::int64_t>(reply.matched, 0));
  if (judged.empty()) return arm_earliest_extension(step);
  if (matched == judged.size()) {
    for (const auto id : judged) extended(id, pending.sent, step);
  } else if (matched == 0) {
    for (const auto id : judged) found_gone(id, reply, step);
  } else {
    // Only totals come back. One look tells whose statement matched nothing.
    ReadHoldersCommand read_holders;
    auto timeout = std::chrono::milliseconds::max();
    std::vector<SessionId> asked;
    for (const auto id : judged) {
      const Session* session = extending(id);
      if (session == nullptr) continue;
      timeout = std::min(timeout, session->options.effective_operation_timeout());
      read_holders.names.push_back(session->name);
      asked.push_back(id);
    }
    if (!asked.empty()) {
      // The flight keeps the extension's sending and beat: they are what the look confirms.
      const auto command = send(
          {.kind = PendingCommand::Kind::read_holders, .sessions = asked, .beat = pending.beat},
          timeout, std::move(read_holders), step);
      pending_.at(command).sent = pending.sent;
      for (const auto id : asked) sessions_.at(id).command = command;
    }
  }
  arm_earliest_extension(step);
}

void ProviderCore::answer_read_holders(const PendingCommand& pending, const Reply& reply,
                                       Step step) {
  std::map<std::string, const LockDocument*> found;
  for (const auto& document : reply.documents) found[document.name] = &document;
  for (const auto id : pending.sessions) {
    if (reply.outcome != Outcome::done) {
      retry_extension(id, step);
      continue;
    }
    const Session* session = extending(id);
    if (session == nullptr) continue;
    const auto document = found.find(session->name);
    const auto parts =
        document == found.end() ? std::nullopt : parse_lock_id(document->second->lock_id);
    const bool ours = parts && parts->owner == session->owner &&
                      document->second->acquired_at == session->acquired_at;
    if (!ours) {
      found_gone(id, reply, step);
    } else if (parts->beat == pending.beat) {
      extended(id, pending.sent, step);
    } else {
      retry_extension(id, step);
    }
  }
  arm_earliest_extension(step);
}

/// The holder's document is not there, says this reply.
void ProviderCore::found_gone(SessionId id, const Reply& reply, Step step) {
  const Session* session = extending(id);
  if (session == nullptr) return;
  if (reply.is_before(session->token)) return retry_extension(id, step);
  lose(id, LostReason::not_owner, step);
}

void ProviderCore::extended(SessionId id, LocalInstant sent, Step step) {
  Session* session = extending(id);
  if (session == nullptr) return;
  if (step.now >= session->deadline) return run_out(id, step);
  const auto deadline = std::min(
      lease_deadline(sent, session->options.expiry, session->options.max_drift), session->ends_at);
  session->deadline = std::max(session->deadline, deadline);
  session->extend_at = std::max(session->extend_at, sent + session->options.effective_cadence());
  step.out.push_back(Extended{id, sent, session->deadline});
}

void ProviderCore::retry_extension(SessionId id, Step step) {
  Session* session = extending(id);
  if (session != nullptr) session->extend_at = step.now + retry_pause(session->options);
}

/// The deadline has come. At the end of a limited holding the lock is also given back.
void ProviderCore::run_out(SessionId id, Step step) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.phase != Session::Phase::held) return;
  const bool limited = found->second.deadline == found->second.ends_at;
  if (limited) start_cleanup(make_cleanup(found->second, step), step);
  lose(id, limited ? LostReason::max_holding : LostReason::deadline, step);
}

void ProviderCore::lose(SessionId id, LostReason reason, Step step) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.phase != Session::Phase::held) return;
  found->second.phase = Session::Phase::lost;
  step.out.push_back(Lost{id, reason});
  clear_timer(Timer::Kind::lease_end, id, step);
  leave_queue(found->second.name, id, step.now, step);
}

}  // namespace leasehold::core
