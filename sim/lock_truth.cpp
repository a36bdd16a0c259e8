#include "sim/lock_truth.hpp"

namespace leasehold::sim {

std::string LockTruth::holder_in(const std::string& lock_id) {
  constexpr char kQueueMark = '~';  // as the document has it; not asked of the lock under test
  return lock_id.substr(0, lock_id.find(kQueueMark));
}

/// Each lockId names one execution of one command: where the holder's stays and what follows it
/// changes, only somebody queued, or left the queue.
LockTruth::Became LockTruth::written(const std::string& id, const std::string& lock_id, bool free) {
  Lock& lock = locks_[id];
  const bool was_free = lock.free;
  const bool only_queue = lock.lock_id != lock_id && holder_in(lock.lock_id) == holder_in(lock_id);
  lock = {lock_id, free};
  if (lock.free) return was_free ? Became::nothing : Became::free;
  return only_queue && !was_free ? Became::nothing : Became::held;
}

LockTruth::Became LockTruth::deleted(const std::string& id) {
  const auto lock = locks_.extract(id);
  return !lock.empty() && lock.mapped().free ? Became::nothing : Became::free;
}

}  // namespace leasehold::sim
