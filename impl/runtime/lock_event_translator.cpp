#include "runtime/lock_event_translator.hpp"

#include <algorithm>
#include <array>

#include "core/acquire/attempt_answer.hpp"

namespace leasehold::runtime {
namespace {

using Kind = LockEvent::Kind;

std::string_view owner_in(std::string_view lock_id) { return lock_id.substr(0, lock_id.find('.')); }

}  // namespace

std::vector<LockEvent> LockEventTranslator::translate(const core::Event& event,
                                                      const core::Effects& effects,
                                                      core::LocalInstant now) {
  Events out;
  if (const auto* asked = std::get_if<core::AcquireAsked>(&event)) {
    since_[asked->session] = {now, now};
  } else if (const auto* reply = std::get_if<core::ReplyArrived>(&event)) {
    on_reply(*reply, out);
  }
  // A deletion that no release waited for: of what an attempt without an answer had won.
  const bool releases = std::ranges::any_of(effects, [](const core::Effect& effect) {
    return std::holds_alternative<core::Released>(effect);
  });
  if (releases) std::erase_if(out, [](const auto& e) { return e.kind == Kind::cleaned_up; });
  for (const core::Effect& effect : effects) on_effect(effect, now, out);
  return out;
}

void LockEventTranslator::on_reply(const core::ReplyArrived& event, Events& out) {
  const auto sent = sent_.extract(event.command);
  if (sent.empty()) return;
  const Sent& command = sent.mapped();
  const core::Reply& reply = event.reply;
  const bool done = reply.outcome == core::Outcome::done;
  switch (command.kind) {
    case Sent::Kind::attempt: {
      const bool held = !reply.documents.empty() &&
                        owner_in(reply.documents[0].lock_id) != owner_in(command.lock_id);
      if (done && held) {
        out.push_back({Kind::refused, command.lock, {}, {}, core::held_by(reply.documents[0])});
      } else if (reply.outcome == core::Outcome::duplicate_key) {
        out.push_back({Kind::refused, command.lock, {}, {}, "held by another"});
      } else if (!done && reply.outcome != core::Outcome::configuration) {
        out.push_back({Kind::attempt_failed, command.lock, {}, {}, reply.message});
      }
      return;
    }
    case Sent::Kind::extension:
      if (done) return;
      for (const auto& of : command.statements) {
        if (!since_.contains(of.session)) continue;  // released meanwhile
        out.push_back({Kind::extension_failed, of.name, of.token, {}, reply.message});
      }
      return;
    case Sent::Kind::removal:
      if (done && reply.matched > 0) out.push_back({Kind::cleaned_up, command.lock});
      return;
  }
}

void LockEventTranslator::on_send(const core::Command& command, Events& out) {
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
    sent_[command.id] = {Sent::Kind::attempt, acquire->name, acquire->lock_id, {}};
    out.push_back({Kind::attempt, acquire->name});
  } else if (const auto* extend = std::get_if<core::ExtendCommand>(&command.body)) {
    sent_[command.id] = {Sent::Kind::extension, {}, {}, extend->statements};
  } else if (const auto* gone = std::get_if<core::DeleteCommand>(&command.body)) {
    sent_[command.id] = {Sent::Kind::removal, gone->name, {}, {}};
  } else if (const auto* plain = std::get_if<core::RawCommand>(&command.body)) {
    if (plain->role == core::RawCommand::Role::acquire) {
      sent_[command.id] = {Sent::Kind::attempt, plain->name, plain->lock_id, {}};
      out.push_back({Kind::attempt, plain->name});
    }
  }
}

void LockEventTranslator::on_effect(const core::Effect& effect, core::LocalInstant now,
                                    Events& out) {
  if (const auto* send = std::get_if<core::Send>(&effect)) {
    on_send(send->command, out);
  } else if (const auto* abandon = std::get_if<core::Abandon>(&effect)) {
    on_reply({abandon->command, {.message = "no reply within the operation timeout"}}, out);
  } else if (const auto* granted = std::get_if<core::Granted>(&effect)) {
    Since& since = since_.at(granted->session);
    since.granted = now;
    constexpr std::array kBy{Kind::acquired, Kind::handed_over, Kind::passed_on, Kind::joined};
    const auto kind = kBy[static_cast<std::size_t>(granted->by)];
    out.push_back({kind, granted->name, granted->token, now - since.asked, {}});
  } else if (const auto* extended = std::get_if<core::Extended>(&effect)) {
    out.push_back({Kind::extended, extended->name, extended->token, now - extended->sent, {}});
  } else if (const auto* lost = std::get_if<core::Lost>(&effect)) {
    out.push_back({Kind::lost, lost->name, lost->token, now - since_.at(lost->session).granted,
                   to_string(lost->reason)});
  } else if (const auto* ended = std::get_if<core::Ended>(&effect)) {
    const auto since = since_.extract(ended->session);
    if (since.empty()) return;
    out.push_back(
        {Kind::gave_up, ended->name, {}, now - since.mapped().asked, to_string(ended->error.kind)});
  } else if (const auto* released = std::get_if<core::Released>(&effect)) {
    const auto since = since_.extract(released->session);
    if (since.empty()) return;
    out.push_back({Kind::released, released->name, released->token, now - since.mapped().granted,
                   to_string(released->result)});
  }
}

}  // namespace leasehold::runtime
