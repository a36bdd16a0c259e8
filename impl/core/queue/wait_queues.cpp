#include "core/queue/wait_queues.hpp"

#include "core/check.hpp"
#include "core/limits.hpp"

namespace leasehold::core {

/// A rival that has not been refused, or has not refused us, for that long may have left.
LocalInstant WaitQueue::turn_after_release(LocalInstant now) const {
  const bool rival = rival_seen && now - *rival_seen < kRivalMemory;
  return now + (rival ? tenure : Duration(0));
}

/// In the order of the calls, whatever their timeouts: only single attempts overtake a call of this
/// process.
bool WaitQueues::join(const std::string& name, SessionId id) {
  WaitQueue& queue = queues_[name];
  LEASEHOLD_CHECK(queue.head != id);
  if (queue.head == 0 || queue.head == queue.reader) {
    queue.head = id;
    return true;
  }
  queue.waiters.push_back(id);
  return false;
}

/// A single attempt is in no queue, and leaving one then changes nothing.
SessionId WaitQueues::leave(const std::string& name, SessionId id, bool promote) {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return 0;
  WaitQueue& queue = found->second;
  if (queue.head == id) {
    queue.head = 0;
  } else {
    std::erase(queue.waiters, id);
  }
  if (queue.head != 0) return 0;
  // What it knew of rivals goes with it: names come and go, and none may stay behind.
  if (queue.waiters.empty()) {
    queues_.erase(found);
    return 0;
  }
  // The rest are about to end one by one; each would start an attempt in vain.
  if (!promote) return 0;
  queue.head = queue.waiters.front();
  queue.waiters.pop_front();
  LEASEHOLD_CHECK(queue.head != id);
  return queue.head;
}

/// A session that holds past the queue is in none: its release helps the head that contends.
SessionId WaitQueues::after(SessionId id, const std::string& name) const {
  const WaitQueue* queue = find(name);
  if (queue == nullptr) return 0;
  if (queue->head != id) return queue->head;
  return queue->waiters.empty() ? 0 : queue->waiters.front();
}

/// The tenure goes on: for other processes it is one holding.
void WaitQueues::pass_to(const std::string& name, SessionId to) {
  WaitQueue& queue = queues_.at(name);
  if (queue.head == to) return;
  LEASEHOLD_CHECK(!queue.waiters.empty() && queue.waiters.front() == to);
  queue.head = to;
  queue.waiters.pop_front();
}

/// Null is usual for a name that no call here wants: events of all locks are looked up.
const WaitQueue* WaitQueues::find(const std::string& name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : &found->second;
}

/// What a win or a refusal says of this process counts only if the head made the attempt.
WaitQueue* WaitQueues::headed_by(SessionId id, const std::string& name) {
  const auto found = queues_.find(name);
  return found != queues_.end() && found->second.head == id ? &found->second : nullptr;
}

}  // namespace leasehold::core
