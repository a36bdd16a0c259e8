#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/step.hpp"

namespace leasehold::core {

using CleanupId = std::uint64_t;

/// A command that was sent, not answered, and not given up: what its answer needs and the reply
/// does not say. A value of its sender, kept here because only the number comes back.
struct PendingCommand {
  enum class Kind { attempt, extension, read_holders, cleanup, hand_over, index, stream };
  Kind kind;
  CommandId id = 0;  ///< filled in by `send`, like the next
  LocalInstant sent;
  std::vector<SessionId> sessions;  ///< attempt, hand_over: one, or none if its call has ended;
                                    ///< extension and read_holders: all that they are for
  CleanupId cleanup = 0;  ///< cleanup and hand_over; attempt: who cleans up after a call that ended
  std::uint64_t beat = 0;  ///< attempt, extension, hand_over; read_holders: of the extension before
  std::optional<std::string> observed;  ///< attempt: the lockId whose holder was presumed dead
  bool operator==(const PendingCommand&) const = default;
};

/// The commands under way, and the numbers that name them.
///
/// INVARIANT: each has its command_timeout timer set; ids and beats never come twice.
class PendingCommands {
 public:
  /// Sends it now; `pending.id` and `pending.sent` are filled in.
  CommandId send(PendingCommand pending, std::chrono::milliseconds timeout,
                 decltype(Command::body) body, Step step);

  /// The command that was answered, which is over with that; none: it was over already.
  std::optional<PendingCommand> take(CommandId id, Step step);

  /// Nobody wants its reply any more. Only for what writes nothing: of a write that was cut off
  /// nobody would know what it did.
  void abandon(CommandId id, Step step);

  [[nodiscard]] bool contains(CommandId id) const { return pending_.contains(id); }
  /// REQUIRES: it is under way
  [[nodiscard]] PendingCommand& at(CommandId id) { return pending_.at(id); }

  /// The number that the next execution of an attempt, extension or hand-over writes into the
  /// lockId, so that each execution can be distinguished from every other.
  std::uint64_t next_beat() { return ++last_beat_; }

  void mix_into(HashMixer& hash) const;
  bool operator==(const PendingCommands&) const = default;

 private:
  std::map<CommandId, PendingCommand> pending_;
  CommandId last_command_ = 0;
  std::uint64_t last_beat_ = 0;
};

}  // namespace leasehold::core
