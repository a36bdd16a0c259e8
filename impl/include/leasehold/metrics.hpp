#pragma once

#include <chrono>
#include <cstdint>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_event.hpp>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace leasehold {

/// Counts events, and writes the counts as text for Prometheus (its exposition format 0.0.4).
/// The first 100 lock names have a label of their own, later ones share "(others)".
/// Thread safety: all calls from any thread.
///
///     auto metrics = std::make_shared<leasehold::Metrics>();
///     options.on_event = [metrics](const auto& event) { metrics->count(event); };
///     ...
///     respond(metrics->prometheus());
class Metrics {
 public:
  void count(const LockEvent& event);

  /// leasehold_events_total{lock,event}, leasehold_wait_seconds_{sum,count}{lock} of calls that
  /// acquired, leasehold_hold_seconds_{sum,count}{lock} of holdings that are over: each counts
  /// once, by its release, or by its loss if that came first.
  [[nodiscard]] std::string prometheus() const;

 private:
  struct OfLock {
    std::map<LockEvent::Kind, std::uint64_t> events;
    std::chrono::nanoseconds waited{0}, held{0};
    std::uint64_t holdings = 0;  ///< that are over
  };
  /// Whether this event is the first that says that its holding is over.
  bool ends_holding(const LockEvent& event);

  mutable std::mutex mutex_;  // protects the rest
  std::map<std::string, OfLock> locks_;
  /// Handles that were lost and not released yet: how many of a lock and token, which not every
  /// kind of lock has.
  std::map<std::pair<std::string, FencingToken>, int> lost_;
};

}  // namespace leasehold
