#include "core/acquire/acquire_call.hpp"

#include "core/check.hpp"

namespace leasehold::core {

/// A caller that timed out wants to know the reason: the holder of the lock, or why no server
/// answered. A call that was never the first here may wait for a lock of its own caller.
Error AcquireCall::error(ErrorKind kind, const std::string& why) const {
  std::string message = "lock '" + name + "': " + why;
  if (!last_failure.message.empty()) {
    message += "; last attempt: " + last_failure.message;
  } else if (in<Queued>() != nullptr) {
    message += "; another call of this process has the lock, or waited for it before";
  }
  return {kind, last_failure.code, std::move(message)};
}

/// This is asked of every call for each reply of the stream, so it looks at nothing but the call.
bool AcquireCall::listens() const {
  return !in<Queued>() && queues();
}

/// Neither a timer nor its turn in line sends a call again that is Attempting without a command.
///
/// INVARIANT: the answered command is the one that the phase names; another one would settle the
/// call by an answer that is not its own.
void AcquireCall::settle(const PendingCommand& command) {
  const auto* attempting = in<Attempting>();
  const auto* receiving = in<Receiving>();
  LEASEHOLD_CHECK(attempting == nullptr || attempting->command == command.id);
  LEASEHOLD_CHECK(receiving == nullptr || receiving->hand_over == command.departure);
  LEASEHOLD_CHECK(attempting != nullptr || receiving != nullptr);
  phase = Attempting{};
}

}  // namespace leasehold::core
