#include "core/queue/queues_seen.hpp"

namespace leasehold::core {

/// An empty queue says little: waiters of a lock that changes hands often come and go.
void QueuesSeen::see(const std::string& name, const LockDocument& document, LocalInstant now) {
  if (document.queue.empty()) return;
  waited_.keep(name, now);
}

/// For as long as a rival is remembered. A queue that is overlooked costs the release one command
/// more (Departure::By).
bool QueuesSeen::anyone_waited(const std::string& name, LocalInstant now) const {
  const auto* const at = waited_.find(name);
  return at != nullptr && now - *at < kRivalMemory;
}

/// Each owner departs once: it is dead from then on, and no other call has it.
void QueuesSeen::leave_behind(Owner owner, Departed departed) {
  departed_.keep(owner, std::move(departed));
}

std::optional<QueuesSeen::Departed> QueuesSeen::granted(Owner owner, FencingToken at) {
  auto* const departed = departed_.find(owner);
  if (departed == nullptr || at <= departed->granted_at) return std::nullopt;
  departed->granted_at = at;
  return *departed;
}

}  // namespace leasehold::core
