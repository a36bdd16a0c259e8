#pragma once

#include <optional>
#include <vector>

#include "core/testing/core_world.hpp"

namespace leasehold::core {

/// What one part of the core needs to be stepped without the others: a hand-moved clock, entropy,
/// the commands under way, and the effects so far.
struct PartWorld {
  SendingStep step() { return {{now, entropy, effects}, pending}; }

  /// Every command of this kind that was sent, in order.
  template <typename Body>
  [[nodiscard]] std::vector<Command> sent() const {
    std::vector<Command> commands;
    for (const auto& effect : effects) {
      const auto* send = std::get_if<Send>(&effect);
      if (send != nullptr && std::holds_alternative<Body>(send->command.body)) {
        commands.push_back(send->command);
      }
    }
    return commands;
  }
  /// The last of them. REQUIRES: there is one
  template <typename Body>
  [[nodiscard]] Body last() const {
    return std::get<Body>(sent<Body>().back().body);
  }

  /// The command that is answered now, as the core would take it out first.
  PendingCommand answered(CommandId id) { return *pending.take(id, step()); }

  LocalInstant now{std::chrono::hours(1)};
  CountingEntropy entropy;
  PendingCommands pending;
  Effects effects;
};

/// What a server says that has executed the command and left this document, at this time.
inline Reply shows(const std::string& lock_id, std::int64_t time = 1'000) {
  Reply reply = CoreWorld::with(Outcome::done);
  reply.operation_time = FencingToken(time);
  reply.documents = {{"lock", lock_id, ServerInstant{77}, time - 1, ""}};
  return reply;
}

}  // namespace leasehold::core
