#include "core/pending_commands.hpp"

#include <utility>

#include "core/check.hpp"

namespace leasehold::core {

/// INVARIANT: numbers rise and are never used again, so a late reply meets no other command.
CommandId PendingCommands::send(PendingCommand pending, std::chrono::milliseconds timeout,
                                decltype(Command::body) body, Step step) {
  const CommandId id = ++last_command_;
  pending.id = id;
  pending.sent = step.now;
  LEASEHOLD_CHECK(pending_.empty() || pending_.rbegin()->first < id);
  pending_.emplace(id, std::move(pending));
  step.out.push_back(Send{{id, timeout, std::move(body)}});
  set_timer(Timer::Kind::command_timeout, id, step.now + timeout, step);
  return id;
}

/// A second answer, or one after the timeout, finds nothing: events may come twice and late.
std::optional<PendingCommand> PendingCommands::take(CommandId id, Step step) {
  auto node = pending_.extract(id);
  if (node.empty()) return std::nullopt;
  LEASEHOLD_CHECK(node.mapped().id == id && node.mapped().sent <= step.now);
  clear_timer(Timer::Kind::command_timeout, id, step);
  return std::move(node.mapped());
}

/// The connection it hangs on is cut; whether it was executed, nobody will know.
void PendingCommands::abandon(CommandId id, Step step) {
  step.out.push_back(Abandon{id});
  pending_.erase(id);
  clear_timer(Timer::Kind::command_timeout, id, step);
}

/// What each is for, equality tells apart.
void PendingCommands::mix_into(HashMixer& hash) const {
  for (const auto& [id, pending] : pending_) {
    hash.mix(id);
    hash.mix(pending.sent);
  }
  hash.mix(last_command_ << 32 | last_beat_);
}

}  // namespace leasehold::core
