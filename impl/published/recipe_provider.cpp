#include "published/recipe_provider.hpp"

#include "api/connect.hpp"
#include "core/document/lock_id.hpp"
#include "core/provider_core.hpp"

namespace leasehold::published {

using core::LocalInstant;
using core::Outcome;
using core::Reply;
using core::SessionId;
using core::Timer;
using Role = core::RawCommand::Role;

namespace {

constexpr int kWriteConflict = 112;
/// None of these locks has a deadline of its own.
constexpr std::chrono::hours kForEver{24 * 3650};

}  // namespace

void RecipeProvider::next(const core::Event& event, const core::Clocks& now, core::Entropy& entropy,
                          core::Effects& out) {
  std::visit([&](const auto& e) { on(e, Step{{now.local, entropy, out}, now.wall}); }, event);
}

void RecipeProvider::on(const core::AcquireAsked& event, Step step) {
  if (closed_) {
    step.out.push_back(core::Ended{event.session, event.name, {ErrorKind::shut_down, 0, "closed"}});
    return;
  }
  if (event.room != 0) {
    const Error error{ErrorKind::invalid_option, 0, "a published lock cannot be shared"};
    return step.out.push_back(core::Ended{event.session, event.name, error});
  }
  Session& s = sessions_[event.session];
  s.call = {event.name, core::fresh_owner(step), event.options};
  s.give_up_at = event.give_up_at;
  s.single_attempt = event.single_attempt;
  if (event.give_up_at) {
    set_timer(Timer::Kind::give_up, event.session, *event.give_up_at, step);
  }
  ensure_indexes(s.call, step);
  if (indexes_under_way_ > 0 && recipe_->awaits_indexes) return;
  attempt(event.session, step);
}

void RecipeProvider::ensure_indexes(const Call& call, Step step) {
  if (indexes_asked_) return;
  indexes_asked_ = true;
  for (const auto text : recipe_->indexes) {
    ++indexes_under_way_;
    send(0, Role::index, text, call, step);
  }
}

void RecipeProvider::attempt(SessionId id, Step step) {
  Session& s = sessions_.at(id);
  s.phase = Session::Phase::attempting;
  if (s.attempts++ > 0) s.call.owner = core::fresh_owner(step);
  const bool prepares = recipe_->in_transaction;
  send(id, prepares ? Role::prepare : Role::acquire, prepares ? "@prepare" : "@acquire", s.call,
       step);
}

void RecipeProvider::on(const core::ReplyArrived& event, Step step) {
  const auto found = pending_.find(event.command);
  if (found == pending_.end()) return;
  const PendingCommand pending = found->second;
  pending_.erase(found);
  clear_timer(Timer::Kind::command_timeout, event.command, step);
  if (pending.role == Role::index) return answer_index(step);
  const auto session = sessions_.find(pending.session);
  if (session == sessions_.end() || session->second.command != event.command) return;
  session->second.command = 0;
  switch (pending.role) {
    case Role::prepare: return answer_prepare(pending.session, event.reply, step);
    case Role::acquire: return answer_acquire(pending.session, pending, event.reply, step);
    case Role::extend: return answer_extension(pending.session, pending, event.reply, step);
    case Role::release: return answer_release(pending.session, event.reply, step);
    case Role::index: return;  // answered above
  }
}

/// Whatever the answer: the published init() throws nothing that would keep a caller from trying.
void RecipeProvider::answer_index(Step step) {
  if (--indexes_under_way_ > 0 || !recipe_->awaits_indexes) return;
  std::vector<SessionId> waiting;
  for (const auto& [id, s] : sessions_) {
    if (s.attempts == 0) waiting.push_back(id);
  }
  for (const auto id : waiting) attempt(id, step);
}

void RecipeProvider::answer_prepare(SessionId id, const Reply& reply, Step step) {
  if (reply.outcome != Outcome::done) return refused(id, reply, step);
  send(id, Role::acquire, "@acquire", sessions_.at(id).call, step);
}

void RecipeProvider::answer_acquire(SessionId id, const PendingCommand& pending, const Reply& reply,
                                    Step step) {
  Session& s = sessions_.at(id);
  const bool won = reply.outcome == Outcome::done && !reply.documents.empty() &&
                   reply.documents[0].lock_id.starts_with(to_hex(s.call.owner) + '.');
  if (!won) return refused(id, reply, step);
  s.phase = Session::Phase::held;
  s.answered_at = step.now;
  s.deadline = held_until(s, pending.sent);
  s.token = FencingToken(recipe_->has_tokens ? reply.documents[0].fencing_token : 0);
  step.out.push_back(core::Granted{id, s.call.name, s.token, s.call.owner, pending.lock_id,
                                   pending.id, core::Granted::By::attempt, pending.sent,
                                   s.deadline});
  clear_timers(id, {Timer::Kind::give_up}, step);
  if (hardening_.own_expiry) set_timer(Timer::Kind::lease_end, id, s.deadline, step);
  if (!recipe_->extends) return;
  s.extend_at = step.now + s.call.options.effective_cadence();
  set_timer(Timer::Kind::extension_round, id, s.extend_at, step);
}

/// Held by another: the lock waits. Anything else it throws.
void RecipeProvider::refused(SessionId id, const Reply& reply, Step step) {
  Session& s = sessions_.at(id);
  const bool held = reply.outcome == Outcome::duplicate_key || reply.outcome == Outcome::done ||
                    (reply.code == kWriteConflict && hardening_.conflict_waits);
  if (!held) {
    const auto kind = reply.error_kind(ErrorKind::unknown_outcome);
    return end(id, kind, reply.message, reply.code, step);
  }
  const bool enough = recipe_->tries > 0 && s.attempts >= recipe_->tries;
  if (s.single_attempt || enough) {
    return end(id, ErrorKind::refused, "held by another", reply.code, step);
  }
  s.phase = Session::Phase::waiting;
  s.attempt_at = step.now + s.call.options.waiting->pause({s.attempts, true}, step.entropy.draw());
  set_timer(Timer::Kind::attempt, id, s.attempt_at, step);
}

void RecipeProvider::extend(SessionId id, Step step) {
  const Session& s = sessions_.at(id);
  // An extension is awaited for as long as it takes; only then the loop goes on.
  if (s.command == 0) send(id, Role::extend, "@extend", s.call, step);
}

void RecipeProvider::answer_extension(SessionId id, const PendingCommand& pending,
                                      const Reply& reply, Step step) {
  Session& s = sessions_.at(id);
  if (s.phase != Session::Phase::held) return;
  const auto now = step.now;
  if (reply.outcome == Outcome::done && reply.matched == 0) {
    return lose(id, LostReason::not_owner, step);
  }
  if (reply.outcome == Outcome::done) {
    s.answered_at = now;  // the lifetime runs anew from the answer
    s.deadline = held_until(s, pending.sent);
    step.out.push_back(core::Extended{id, s.call.name, s.token, pending.lock_id, pending.id,
                                      pending.sent, s.deadline});
  } else if (now - s.answered_at >= s.call.options.expiry) {
    return lose(id, LostReason::deadline, step);
  }
  s.extend_at = now + s.call.options.effective_cadence();
  set_timer(Timer::Kind::extension_round, id, s.extend_at, step);
}

LocalInstant RecipeProvider::held_until(const Session& s, LocalInstant sent) const {
  const LockOptions& o = s.call.options;
  return hardening_.own_expiry ? core::lease_deadline(sent, o.expiry, o.max_drift)
                               : sent + kForEver;
}

void RecipeProvider::lose(SessionId id, LostReason reason, Step step) {
  Session& s = sessions_.at(id);
  if (s.phase != Session::Phase::held) return;
  s.phase = Session::Phase::lost;
  step.out.push_back(core::Lost{id, s.call.name, s.token, reason});
  clear_timers(id, {Timer::Kind::lease_end, Timer::Kind::extension_round}, step);
}

void RecipeProvider::on(const core::ReleaseAsked& event, Step step) {
  const auto found = sessions_.find(event.session);
  if (found == sessions_.end()) return;
  Session& s = found->second;
  if (s.phase != Session::Phase::held && s.phase != Session::Phase::lost) return;
  s.phase = Session::Phase::releasing;
  clear_timers(event.session, {Timer::Kind::lease_end, Timer::Kind::extension_round}, step);
  send(event.session, Role::release, "@release", s.call, step);
}

void RecipeProvider::answer_release(SessionId id, const Reply& reply, Step step) {
  const auto result = reply.outcome != Outcome::done ? ReleaseResult::unknown
                      : reply.matched > 0            ? ReleaseResult::released
                                                     : ReleaseResult::not_owner;
  const Session& s = sessions_.at(id);
  step.out.push_back(core::Released{id, s.call.name, s.token, result});
  sessions_.erase(id);
}

void RecipeProvider::on(const core::CancelAsked& event, Step step) {
  end(event.session, ErrorKind::cancelled, "cancelled", 0, step);
}

void RecipeProvider::on(const core::DeadlineSeen& event, Step step) {
  if (sessions_.contains(event.session)) lose(event.session, LostReason::deadline, step);
}

void RecipeProvider::on(const core::ExtendAsked& event, Step step) {
  const auto found = sessions_.find(event.session);
  const bool held = found != sessions_.end() && found->second.phase == Session::Phase::held;
  if (held && recipe_->extends) extend(event.session, step);
}

void RecipeProvider::on(const core::CloseAsked&, Step step) {
  closed_ = true;
  std::vector<SessionId> all;
  for (const auto& [id, session] : sessions_) all.push_back(id);
  for (const auto id : all) end(id, ErrorKind::shut_down, "the provider was destroyed", 0, step);
}

/// Ends an acquire that has not won; what its attempt under way may still win is forgotten.
void RecipeProvider::end(SessionId id, ErrorKind kind, const std::string& why, int code,
                         Step step) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const Session& s = found->second;
  if (s.phase != Session::Phase::waiting && s.phase != Session::Phase::attempting) return;
  step.out.push_back(
      core::Ended{id, s.call.name, {kind, code, "lock '" + s.call.name + "': " + why}});
  clear_timers(id, {Timer::Kind::give_up, Timer::Kind::attempt}, step);
  sessions_.erase(found);
}

void RecipeProvider::on(const core::TimerFired& event, Step step) {
  const auto id = event.timer.id;
  if (event.timer.kind == Timer::Kind::command_timeout) {
    if (!pending_.contains(id)) return;
    step.out.push_back(core::Abandon{id});
    return on(core::ReplyArrived{id, {.message = "no reply within the operation timeout"}}, step);
  }
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const Session& s = found->second;
  const bool held = s.phase == Session::Phase::held;
  switch (event.timer.kind) {
    case Timer::Kind::attempt:
      if (s.phase == Session::Phase::waiting && step.now >= s.attempt_at) attempt(id, step);
      return;
    case Timer::Kind::give_up:
      if (s.give_up_at && step.now >= *s.give_up_at) {
        end(id, ErrorKind::timed_out, "timed out", 0, step);
      }
      return;
    case Timer::Kind::extension_round:
      if (held && step.now >= s.extend_at) extend(id, step);
      return;
    case Timer::Kind::lease_end:
      if (!held) return;
      if (step.now >= s.deadline) return lose(id, LostReason::deadline, step);
      return set_timer(event.timer.kind, id, s.deadline, step);
    default: return;
  }
}

void RecipeProvider::send(SessionId id, Role role, std::string_view text, const Call& call,
                          Step step) {
  const auto command = ++last_command_;
  core::RawCommand plain{.role = role, .session = id};
  plain.bson = command_of(*recipe_, text, call, step.wall, hardening_);
  std::chrono::milliseconds timeout{10'000};
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) {
    Session& s = found->second;
    s.command = command;
    timeout = s.call.options.effective_operation_timeout();
    plain.name = s.call.name;
    plain.owner = s.call.owner;
    plain.lock_id =
        core::format_lock_id({s.call.owner, s.call.options.expiry.count(), ++last_beat_});
  }
  if (role == Role::acquire) {
    plain.won = recipe_->won;
    plain.on_admin = recipe_->in_transaction;
  }
  pending_.emplace(command, PendingCommand{command, role, id, step.now, plain.lock_id});
  step.out.push_back(core::Send{{command, timeout, std::move(plain)}});
  set_timer(Timer::Kind::command_timeout, command, step.now + timeout, step);
}

void RecipeProvider::clear_timers(SessionId id, std::initializer_list<Timer::Kind> kinds,
                                  Step step) {
  for (const auto kind : kinds) clear_timer(kind, id, step);
}

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const auto* recipe : recipes()) list.emplace_back(recipe->name);
    return list;
  }();
  return all;
}

Result<LockProvider> connect(const std::string& lock, const std::string& uri,
                             const Hardening& hardening, ProviderOptions options) {
  const Recipe* recipe = recipe_named(lock);
  if (recipe == nullptr) {
    return Error{ErrorKind::invalid_option, 0,
                 "lock is '" + lock +
                     "': it must be distributed-lock, document-level, insert-unique or "
                     "set-on-insert"};
  }
  return runtime::connect_with(std::make_unique<RecipeProvider>(*recipe, hardening), {.uri = uri},
                               std::move(options));
}

std::unique_ptr<core::Provider> provider_named(std::string_view lock, std::string holder,
                                               int workers, const Hardening& hardening) {
  if (lock == "leasehold") return std::make_unique<core::ProviderCore>(holder, workers);
  const Recipe* recipe = recipe_named(lock);
  return recipe == nullptr ? nullptr : std::make_unique<RecipeProvider>(*recipe, hardening);
}

}  // namespace leasehold::published
