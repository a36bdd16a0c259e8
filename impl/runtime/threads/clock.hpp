#pragma once

#include <memory>

#include "core/time.hpp"

namespace leasehold::runtime {

/// This process's clocks. Thread safety: all calls from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never runs backwards.
  [[nodiscard]] virtual core::LocalInstant now() const = 0;
  /// Only the published locks ask for it.
  [[nodiscard]] virtual core::WallInstant wall() const;
};

/// CLOCK_BOOTTIME: unlike steady_clock it runs during suspend, when leases run out too.
[[nodiscard]] std::shared_ptr<const Clock> boottime_clock();

}  // namespace leasehold::runtime
