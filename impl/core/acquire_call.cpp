#include "core/acquire_call.hpp"

#include "core/check.hpp"

namespace leasehold::core {

/// A caller that timed out wants to know what stood in its way: held by whom, or why no server
/// answered.
Error AcquireCall::error(ErrorKind kind, const std::string& why) const {
  std::string message = "lock '" + name + "': " + why;
  if (!last_failure.message.empty()) message += "; last attempt: " + last_failure.message;
  return {kind, last_failure.code, std::move(message)};
}

/// Asked of every call for each reply of the stream, so it looks at nothing but the call.
bool AcquireCall::listens() const {
  return !in<Queued>() && queues();
}

/// As Attempting without a command it cannot be sent again by the way.
///
/// INVARIANT: the number is the other half of what was written when the command was sent; another
/// one would settle a call by an answer that is not its own.
void AcquireCall::settle(const PendingCommand& command) {
  const auto* attempting = in<Attempting>();
  const auto* receiving = in<Receiving>();
  LEASEHOLD_CHECK(attempting == nullptr || attempting->command == command.id);
  LEASEHOLD_CHECK(receiving == nullptr || receiving->hand_over == command.cleanup);
  LEASEHOLD_CHECK(attempting != nullptr || receiving != nullptr);
  phase = Attempting{};
}

}  // namespace leasehold::core
