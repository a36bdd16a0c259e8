#include "sim/record/recorder.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/document/lock_readers.hpp"

namespace leasehold::sim {
namespace {

using model::Event;
using model::Kind;

std::int64_t ns(core::LocalInstant instant) { return instant.time_since_epoch().count(); }

const char* name_of(core::Outcome outcome) {
  switch (outcome) {
    case core::Outcome::done: return "done";
    case core::Outcome::unknown: return "unknown";
    case core::Outcome::not_executed: return "failed_before";
    case core::Outcome::duplicate_key: return "duplicate_key";
    case core::Outcome::configuration: return "configuration";
  }
  return "?";
}

}  // namespace

Event Recorder::at(core::LocalInstant now, Kind kind, Event e) const {
  e.at_ns = ns(now);
  e.kind = kind;
  e.process = process_;
  return e;
}

Event Recorder::of_session(core::SessionId session, const std::string& name, core::LocalInstant now,
                           Kind kind) const {
  Event e = at(now, kind);
  e.session = static_cast<std::int64_t>(session);
  e.name = name;
  return e;
}

void Recorder::step(const core::Event& event, const core::Effects& effects,
                    core::LocalInstant now) {
  const std::lock_guard lock(mutex_);
  if (const auto* asked = std::get_if<core::AcquireAsked>(&event)) on(*asked, now);
  if (const auto* release = std::get_if<core::ReleaseAsked>(&event)) on(*release, now);
  if (const auto* reply = std::get_if<core::ReplyArrived>(&event)) on(*reply, now);
  for (const auto& effect : effects) on_effect(effect, now);
}

/// What a call asks for, but for the margin and the longest holding of its locks.
void Recorder::set_options(Event& e, const LockOptions& o) const {
  e.expiry_ms = o.expiry.count();
  e.longest_pause_ms =
      std::chrono::ceil<std::chrono::milliseconds>(o.waiting->longest_pause()).count();
  e.operation_timeout_ms = o.effective_operation_timeout().count();
  e.max_drift_ppm = std::llround(o.max_drift * 1e6);
  e.healed = healed_;
}

std::int64_t Recorder::asked(const Asked& call, const LockOptions& options,
                             core::LocalInstant now) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  for (const auto& name : call.names) {
    Event e = at(now, Kind::all);
    e.call = calls_;
    e.name = name;
    e.count = std::ssize(call.names);
    e.single_attempt = call.timeout.count() == 0;
    if (!e.single_attempt) e.give_up_ns = ns(now + call.timeout);
    set_options(e, options);
    if (options.max_holding) e.max_holding_ms = options.max_holding->count();
    emit_(std::move(e));
  }
  return calls_;
}

std::int64_t Recorder::called(Event call, core::LocalInstant now) {
  const std::lock_guard lock(mutex_);
  call.call = ++calls_;
  emit_(at(now, Kind::call, std::move(call)));
  return calls_;
}

void Recorder::answered(Kind kind, Event end, core::LocalInstant now) {
  const std::lock_guard lock(mutex_);
  emit_(at(now, kind, std::move(end)));
}

void Recorder::on(const core::AcquireAsked& event, core::LocalInstant now) {
  const LockOptions& o = event.options;
  Event e = at(now, Kind::ask);
  e.session = static_cast<std::int64_t>(event.session);
  e.name = event.name;
  e.single_attempt = event.single_attempt;
  e.shared = event.room != 0;
  if (!event.single_attempt && event.give_up_at) e.give_up_ns = ns(*event.give_up_at);
  set_options(e, o);
  e.clock_margin_ms = o.clock_margin.count();
  e.max_holding_ms = o.max_holding ? o.max_holding->count() : 0;
  e.holdings_in_a_row = std::int64_t{o.hand_overs_in_a_row} + 1;
  names_[event.session] = event.name;
  emit_(std::move(e));
}

void Recorder::on(const core::ReleaseAsked& event, core::LocalInstant now) {
  const auto name = names_.find(event.session);
  if (name == names_.end()) return;  // released before
  emit_(of_session(event.session, name->second, now, Kind::release));
}

void Recorder::on(const core::ReplyArrived& event, core::LocalInstant now) {
  const auto sent = under_way_.find(event.command);
  if (sent == under_way_.end()) return;
  const core::Reply& r = event.reply;
  Event e = at(now, Kind::reply);
  e.command = static_cast<std::int64_t>(event.command);
  e.verb = sent->second.verb;
  e.owner = sent->second.owner;
  e.giver = sent->second.giver;
  e.also_owner = sent->second.also_owner;
  e.outcome = name_of(r.outcome);
  e.order = r.operation_time.value();
  e.matched = r.matched;
  if (e.verb == "pass-on") {
    if (!r.documents.empty()) e.seen_lock_id = r.documents[0].lock_id;
    const auto had = [&](const std::string& hex) {
      const auto owner = core::owner_from_hex(hex);
      return owner && !r.documents.empty() &&
             core::names_owner(core::holding_of(r.documents[0], *owner).lock_id, *owner);
    };
    e.matched = had(e.owner) || had(e.also_owner) ? 1 : 0;
  }
  if (model::asks_for_lock(e)) {
    if (!r.documents.empty()) e.seen_lock_id = r.documents[0].lock_id;
    e.matched = !r.documents.empty() && r.documents[0].lock_id == sent->second.lock_id ? 1 : 0;
  }
  under_way_.erase(sent);
  emit_(std::move(e));
}

void Recorder::on_send(const core::Command& command, core::LocalInstant now) {
  Event e = at(now, Kind::send);
  e.command = static_cast<std::int64_t>(command.id);
  const auto says = [&e](const char* verb, const auto& body) {
    e.verb = verb;
    e.name = body.name;
    e.owner = core::to_hex(body.owner);
  };
  const auto writes = [&e](const auto& body) {
    e.session = static_cast<std::int64_t>(body.session);
    e.lock_id = body.lock_id;
  };
  if (const auto* extend = std::get_if<core::ExtendCommand>(&command.body)) {
    e.verb = "extend";
    under_way_[command.id] = {e.verb};
    for (const auto& statement : extend->statements) {
      says("extend", statement);
      writes(statement);
      emit_(Event(e));
    }
    return;
  }
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
    says("acquire", *acquire);
    writes(*acquire);
    e.observed_lock_id = acquire->observed.value_or("");
  } else if (const auto* given = std::get_if<core::HandOverCommand>(&command.body)) {
    says("hand-over", *given);
    writes(*given);
    e.giver = core::to_hex(given->from);
  } else if (const auto* remove = std::get_if<core::DeleteCommand>(&command.body)) {
    says("delete", *remove);
    if (remove->or_owner) e.also_owner = core::to_hex(*remove->or_owner);
  } else if (const auto* passed = std::get_if<core::PassOnCommand>(&command.body)) {
    says("pass-on", *passed);
    if (passed->or_owner) e.also_owner = core::to_hex(*passed->or_owner);
  } else if (const auto* plain = std::get_if<core::RawCommand>(&command.body)) {
    // A published lock sent it: to the checkers a command that prepares an attempt is a look.
    constexpr std::array kVerbs{"look", "acquire", "extend", "delete", "index"};
    const auto* const verb = kVerbs[static_cast<std::size_t>(plain->role)];
    using Role = core::RawCommand::Role;
    const bool is_put = plain->role == Role::acquire || plain->role == Role::extend;
    if (is_put || plain->role == Role::release) says(verb, *plain);
    if (is_put) writes(*plain);
    e.verb = verb;
  } else {
    e.verb = std::holds_alternative<core::ReadHoldersCommand>(command.body) ? "look"
             : std::holds_alternative<core::StreamCommand>(command.body)    ? "stream"
                                                                            : "index";
  }
  const bool extends = e.verb == "extend";  // its reply names no owner
  under_way_[command.id] =
      extends ? Sent{e.verb} : Sent{e.verb, e.owner, e.lock_id, e.giver, e.also_owner};
  emit_(std::move(e));
}

void Recorder::on_effect(const core::Effect& effect, core::LocalInstant now) {
  if (const auto* send_effect = std::get_if<core::Send>(&effect)) {
    on_send(send_effect->command, now);
  } else if (const auto* abandon = std::get_if<core::Abandon>(&effect)) {
    on(core::ReplyArrived{abandon->command, {}}, now);
  } else if (const auto* granted = std::get_if<core::Granted>(&effect)) {
    Event e = of_session(granted->session, granted->name, now, Kind::granted);
    e.owner = core::to_hex(granted->owner);
    e.lock_id = granted->lock_id;
    e.token = granted->token.value();
    e.sent_ns = ns(granted->sent);
    e.deadline_ns = ns(granted->deadline);
    if (granted->by == core::Granted::By::pass_on) e.verb = "pass-on";
    e.shared = granted->room != 0;
    grants_[{e.name, e.token, e.session}] = {e.session, e.owner, granted->token};
    emit_(std::move(e));
  } else if (const auto* extended = std::get_if<core::Extended>(&effect)) {
    Event e = of_session(extended->session, extended->name, now, Kind::extended);
    e.lock_id = extended->lock_id;
    e.sent_ns = ns(extended->sent);
    e.deadline_ns = ns(extended->deadline);
    emit_(std::move(e));
  } else if (const auto* lost = std::get_if<core::Lost>(&effect)) {
    Event e = of_session(lost->session, lost->name, now, Kind::lost);
    e.outcome = to_string(lost->reason);
    emit_(std::move(e));
  } else if (const auto* ended = std::get_if<core::Ended>(&effect)) {
    Event e = of_session(ended->session, ended->name, now, Kind::ended);
    e.outcome = to_string(ended->error.kind);
    e.message = ended->error.message;
    emit_(std::move(e));
    forget(ended->session);
  } else if (const auto* released = std::get_if<core::Released>(&effect)) {
    Event e = of_session(released->session, released->name, now, Kind::released);
    e.outcome = to_string(released->result);
    emit_(std::move(e));
    forget(released->session);
  } else if (const auto* congested = std::get_if<core::Congested>(&effect)) {
    Event e = at(now, Kind::congestion);
    e.begins = congested->begins;
    e.ends = !congested->begins;
    emit_(std::move(e));
  }
}

/// Nothing more happens to it, and a process lives long.
void Recorder::forget(core::SessionId session) {
  names_.erase(session);
  std::erase_if(grants_, [session](const auto& grant) {
    return grant.second.session == static_cast<std::int64_t>(session);
  });
}

void Recorder::wire(const std::string& command) {
  const std::lock_guard lock(mutex_);
  ++wire_[command];
}

void Recorder::heal() {
  const std::lock_guard lock(mutex_);
  healed_ = true;
}

Recorder::Grant Recorder::grant_of(const std::string& name, FencingToken token) const {
  const std::lock_guard lock(mutex_);
  const auto after = grants_.upper_bound(
      {name, token.value(), std::numeric_limits<std::int64_t>::max()});
  if (after == grants_.begin()) return {};
  const auto& [key, latest] = *std::prev(after);
  return std::get<0>(key) == name && std::get<1>(key) == token.value() ? latest : Grant{};
}

std::size_t Recorder::sessions() const {
  const std::lock_guard lock(mutex_);
  return names_.size();
}

void Recorder::emit_wire_counts(core::LocalInstant now) {
  const std::lock_guard lock(mutex_);
  for (const auto& [command, count] : wire_) {
    Event e = at(now, Kind::wire);
    e.verb = command;
    e.count = count;
    emit_(std::move(e));
  }
}

}  // namespace leasehold::sim
