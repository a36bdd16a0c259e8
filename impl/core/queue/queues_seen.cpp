#include "core/queue/queues_seen.hpp"

#include <algorithm>

#include "core/limits.hpp"

namespace leasehold::core {
namespace {

/// Linear, but only for a new key when the memory is full.
template <typename Map, typename Since>
void make_room(Map& map, Since since) {
  if (map.size() < kMaxSights) return;
  map.erase(std::min_element(map.begin(), map.end(), [&](const auto& one, const auto& other) {
    return since(one.second) < since(other.second);
  }));
}

}  // namespace

/// An empty queue says little: waiters of a lock that changes hands often come and go.
void QueuesSeen::see(const std::string& name, const LockDocument& document, LocalInstant now) {
  if (document.queue.empty()) return;
  if (!waited_.contains(name)) make_room(waited_, [](LocalInstant at) { return at; });
  waited_[name] = now;
}

/// For as long as a rival is remembered. A queue that is overlooked goes with the document, unless
/// the releasing call queues itself (Departure::By): its waiters ask again, in another order.
bool QueuesSeen::anyone_waited(const std::string& name, LocalInstant now) const {
  const auto found = waited_.find(name);
  return found != waited_.end() && now - found->second < kRivalMemory;
}

/// Each owner departs once: it is dead from then on, and no other call has it.
void QueuesSeen::leave_behind(Owner owner, Departed departed) {
  make_room(departed_, [](const Departed& one) { return one.since; });
  departed_.emplace(owner, std::move(departed));
}

std::optional<QueuesSeen::Departed> QueuesSeen::granted(Owner owner, FencingToken at) {
  const auto found = departed_.find(owner);
  if (found == departed_.end() || at <= found->second.granted_at) return std::nullopt;
  found->second.granted_at = at;
  return found->second;
}

}  // namespace leasehold::core
