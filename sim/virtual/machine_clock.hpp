#pragma once

#include <vector>

#include "runtime/threads/clock.hpp"
#include "sim/faults/suspension.hpp"
#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {

/// The clocks of a simulated machine: they decide how virtual time looks from within.
///
/// Determinism: whole numbers alone, so a clock that drifts shows the same on every real machine.
///
/// INVARIANT: what it shows never goes back.
class MachineClock final : public runtime::Clock {
 public:
  /// It runs `drift_ppm` fast, which may be negative. `epoch_ms` is the wall clock at virtual time
  /// 0, since 1970.
  MachineClock(const EventQueue& queue, std::int64_t drift_ppm, std::int64_t epoch_ms)
      : queue_(queue), drift_ppm_(drift_ppm), epoch_ms_(epoch_ms) {}

  /// As CLOCK_BOOTTIME: it starts with the run, drifts, and cannot be set.
  [[nodiscard]] core::LocalInstant now() const override;
  /// Without drift, and off by `wall_offset_ms`, which a fault sets. No decision of the production
  /// lock reads it.
  [[nodiscard]] core::WallInstant wall() const override;
  std::int64_t wall_offset_ms = 0;

  /// What this clock shows at that true time, and the first true time at which it shows that. All
  /// events are on the grain.
  [[nodiscard]] std::int64_t shown_at(std::int64_t true_ns) const;
  [[nodiscard]] std::int64_t true_time(std::int64_t shown_ns) const;

  /// From now on it stands still, and does not know it, because no clock of a suspended virtual
  /// machine sees the suspension.
  void stand_still();
  void go_on();

 private:
  [[nodiscard]] std::int64_t shown_after(std::int64_t ran_ns) const;

  const EventQueue& queue_;
  const std::int64_t drift_ppm_, epoch_ms_;
  // INVARIANT: in the order of time; only the last may have an unknown end.
  std::vector<Suspension> suspensions_;
};

}  // namespace leasehold::sim::simulated
