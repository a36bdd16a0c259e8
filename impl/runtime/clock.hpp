#pragma once

#include <memory>

#include "core/time.hpp"

namespace leasehold::runtime {

/// This process's clock. Thread safety: all calls from any thread; never runs backwards.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual core::LocalInstant now() const = 0;
};

/// CLOCK_BOOTTIME: unlike steady_clock it runs during suspend, when leases run out too.
[[nodiscard]] std::shared_ptr<const Clock> boottime_clock();

}  // namespace leasehold::runtime
