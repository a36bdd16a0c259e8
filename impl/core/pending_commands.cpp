#include "core/pending_commands.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace leasehold::core {

/// INVARIANT: numbers rise and are never used again, so a late reply meets no other command.
CommandId PendingCommands::send(PendingCommand pending, std::chrono::milliseconds timeout,
                                decltype(Command::body) body, Step step) {
  const CommandId id = ++last_command_;
  pending.id = id;
  pending.sent = step.now;
  pending.counts = !may_take_long(body);
  busy_ += pending.counts ? 1 : 0;
  using enum PendingCommand::Kind;
  if (pending.kind == attempt) attempt_last_ = true;
  if (pending.kind == departure || pending.kind == hand_over) attempt_last_ = false;
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
  busy_ -= node.mapped().counts ? 1 : 0;
  return std::move(node.mapped());
}

/// The connection it hangs on is cut; whether it was executed stays unknown.
void PendingCommands::abandon(CommandId id, Step step) {
  step.out.push_back(Abandon{id});
  take(id, step);
}

/// Without a bound on slots there is no line either, and no trouble: nothing is counted.
void PendingCommands::not_heard() {
  if (slots_ != kUnbounded) unheard_ = std::min(unheard_ + 1, slots_);
}

/// By turns, because a release behind thousands of attempts would keep its lock from all others.
std::optional<Timer> PendingCommands::next_in_line(bool attempts_too) {
  const bool turn = !attempt_last_ || departures_.empty();
  const bool attempt = attempts_too && !attempts_.empty() && turn;
  Line& line = attempt ? attempts_ : departures_;
  if (line.empty()) return std::nullopt;
  const Timer next = line.begin()->second;
  line.erase(line.begin());
  return next;
}

}  // namespace leasehold::core
