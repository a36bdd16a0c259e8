#pragma once

#include <chrono>
#include <leasehold/fencing_token.hpp>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace leasehold {

/// Something that happened to one lock of a provider: for logs, traces and figures.
struct LockEvent {
  enum class Kind {
    attempt,           ///< an acquire call asks the server
    refused,           ///< another holds the lock
    acquired,          ///< `took`: since the call
    gave_up,           ///< an acquire call ended without the lock; `detail`: the kind of error
    extended,          ///< `took`: since the command was sent
    extension_failed,  ///< not confirmed; tried again until the deadline
    handed_over,       ///< acquired by way of the release of another call of this process
    lost,              ///< `took`: since it was acquired; `detail`: the LostReason
    released,          ///< `took`: since it was acquired; `detail`: the ReleaseResult
    cleaned_up,        ///< what an attempt without an answer had won was deleted
  };
  Kind kind = Kind::attempt;
  std::string lock;
  FencingToken token;  ///< acquired, handed_over, extended, lost, released; otherwise 0
  std::chrono::nanoseconds took{0};
  std::string detail;

  bool operator==(const LockEvent&) const = default;
};

[[nodiscard]] const char* to_string(LockEvent::Kind kind);

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
