#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_event.hpp>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace leasehold::inline v0_1 {

/// Counts events, and writes the counts for Prometheus: in its exposition format 0.0.4, or in
/// OpenMetrics 1.0. The first 100 lock names have a label of their own, later ones share
/// "(others)".
/// Thread safety: all calls from any thread.
///
///     auto metrics = std::make_shared<leasehold::Metrics>();
///     options.on_event = [metrics](const auto& event) { metrics->count(event); };
///     ...
///     respond(metrics->prometheus());
class Metrics {
 public:
  void count(const LockEvent& event);

  /// leasehold_events_total{lock,event}; leasehold_waits_total{lock,outcome} of calls that are
  /// over: "acquired", or the kind of error of those that gave up or failed; histograms:
  /// leasehold_wait_seconds{lock} of calls that acquired, leasehold_given_up_wait_seconds{lock} of
  /// those that did not, leasehold_hold_seconds{lock} of holdings that are over, each counted once,
  /// by its release, or by its loss if that came first; the gauge leasehold_held_locks{lock}.
  /// Buckets end at 1, 5, 10, 50, 100, 500 ms, 1, 5, 10, 30 s, 1, 5, 30 min.
  [[nodiscard]] std::string prometheus() const;

  /// The same as OpenMetrics (`application/openmetrics-text; version=1.0.0`).
  [[nodiscard]] std::string openmetrics() const;

 private:
  static constexpr std::size_t kBounds = 13;
  struct Histogram {
    std::array<std::uint64_t, kBounds + 1> counts{};  ///< the last: above all bounds
    std::chrono::nanoseconds sum{0};
    void add(std::chrono::nanoseconds value);
    [[nodiscard]] std::string text(const std::string& name, const std::string& label) const;
  };
  struct OfLock {
    std::map<LockEvent::Kind, std::uint64_t> events;
    std::map<std::string, std::uint64_t> waits;  ///< by outcome
    Histogram waited, given_up, held;
    std::int64_t holders = 0;  ///< now
  };
  enum class Format { prometheus, openmetrics };
  [[nodiscard]] std::string text(Format format) const;
  /// Whether this event is the first that says that its holding is over.
  bool ends_holding(const LockEvent& event);

  mutable std::mutex mutex_;  // protects the rest
  std::map<std::string, OfLock> locks_;
  /// How many handles of a lock and token were lost and not released yet; some kinds of locks have
  /// no token.
  std::map<std::pair<std::string, FencingToken>, int> lost_;
};

}  // namespace leasehold
