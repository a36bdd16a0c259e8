#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/protocol.hpp"

namespace leasehold::core {

/// Those of this process who want or have one lock, in order. Only the head contends for it.
struct WaitQueue {
  SessionId head = 0;  ///< who contends, receives or holds; 0: nobody, once the provider closed
  std::deque<SessionId> waiters;
  LocalInstant tenure_since;  ///< when this process last won the lock from others ...
  Duration tenure{0};         ///< ... and for how long it had it then, hand-overs included
  std::optional<LocalInstant> rival_seen;  ///< when another process last refused us

  /// When those who wait here may try for the lock that this process has just freed: at once,
  /// unless another process wants it too. Then that one gets its turn, for a pause, and for no
  /// longer than this process had the lock: others with long pauses would leave it idle.
  [[nodiscard]] LocalInstant turn_after_release(LocalInstant now) const;
  bool operator==(const WaitQueue&) const = default;
};

/// The queue of each name inside this process. It knows the order and nothing else: not what
/// became of a call, nor how a lock passes along.
///
/// INVARIANT: a name without head and waiters has no queue. Nobody stands in one twice, and nobody
/// is overtaken in it.
class WaitQueues {
 public:
  /// Whether it is the head at once.
  bool join(const std::string& name, SessionId id);

  /// Takes it out, wherever it stands. Returns who became the head by that; 0: nobody did. Without
  /// `promote` nobody does, for all are about to end.
  SessionId leave(const std::string& name, SessionId id, bool promote);

  /// Whose turn it is when this session, which holds the lock, releases it: its first waiter, or
  /// the head if it holds past the queue. 0: nobody's.
  [[nodiscard]] SessionId after(SessionId id, const std::string& name) const;

  /// The lock passes from the head to `to`, its first waiter or already the head.
  void pass_to(const std::string& name, SessionId to);

  [[nodiscard]] const WaitQueue* find(const std::string& name) const;
  /// The queue that this session is the head of; null: none, as for a single attempt.
  [[nodiscard]] WaitQueue* headed_by(SessionId id, const std::string& name);
  [[nodiscard]] const std::map<std::string, WaitQueue>& all() const { return queues_; }

  bool operator==(const WaitQueues&) const = default;

 private:
  std::map<std::string, WaitQueue> queues_;
};

}  // namespace leasehold::core
