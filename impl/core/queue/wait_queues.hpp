#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/protocol.hpp"

namespace leasehold::core {

/// The calls of this process that want or have one lock, in order. Only the head contends.
struct WaitQueue {
  SessionId head = 0;  ///< contends, receives or holds; 0: none, once the provider closed
  std::deque<SessionId> waiters;
  SessionId reader = 0;  ///< the head that has won the lock to read; the next call does not wait
  LocalInstant tenure_since;  ///< when this process last won the lock from others ...
  Duration tenure{0};         ///< ... and for how long it had it then, hand-overs included
  std::optional<LocalInstant> rival_seen;  ///< when another process last refused us

  /// When the calls that wait here may try for the lock that this process has just freed: at once,
  /// unless another process wants it too. Then that process is next, for a pause, and for no longer
  /// than this process had the lock, because others with long pauses would leave it idle.
  [[nodiscard]] LocalInstant turn_after_release(LocalInstant now) const;
};

/// The queue of each name inside this process. It knows the order and nothing else: not what
/// became of a call, nor how a lock passes along.
///
/// INVARIANT: a name without head and waiters has no queue. No call is in one twice, and none
/// is overtaken in it.
class WaitQueues {
 public:
  /// Whether it is the head at once.
  bool join(const std::string& name, SessionId id);

  /// Takes it out, wherever it is. Returns the call that became the head by that; 0: none did.
  /// Without `promote` none does, because all are about to end.
  SessionId leave(const std::string& name, SessionId id, bool promote);

  /// The call that is next when this session, which holds the lock, releases it: its first waiter,
  /// or the head if it holds past the queue. 0: none.
  [[nodiscard]] SessionId after(SessionId id, const std::string& name) const;

  /// The lock passes from the head to `to`, its first waiter or already the head.
  void pass_to(const std::string& name, SessionId to);

  [[nodiscard]] const WaitQueue* find(const std::string& name) const;
  /// The queue that this session is the head of; null: none, as for a single attempt.
  [[nodiscard]] WaitQueue* headed_by(SessionId id, const std::string& name);
  [[nodiscard]] const std::map<std::string, WaitQueue>& all() const { return queues_; }

 private:
  std::map<std::string, WaitQueue> queues_;
};

}  // namespace leasehold::core
