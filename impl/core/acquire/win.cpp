#include "core/acquire/win.hpp"

#include <algorithm>

namespace leasehold::core {

/// Everything counts from the sending of the command that won: the server may have executed it at
/// once, and the next holder waits by the server's clock from then.
HeldLock held_lock(const AcquireCall& call, const Win& win) {
  const LockOptions& options = call.options;
  HeldLock lock;
  lock.name = call.name;
  lock.options = options;
  lock.owner = call.owner;
  lock.token = win.at;
  lock.acquired_at = win.document.acquired_at;
  if (options.max_holding) lock.ends_at = win.sent + *options.max_holding;
  lock.deadline =
      std::min(lease_deadline(win.sent, options.expiry, options.max_drift), lock.ends_at);
  lock.extend_at = win.sent + lock.cadence();
  lock.late_commands = call.unanswered > 0;
  // A lock won from other processes begins a new row.
  lock.hand_overs = win.by == Granted::By::hand_over ? call.hand_overs : 0;
  return lock;
}

}  // namespace leasehold::core
