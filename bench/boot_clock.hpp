#pragma once

#include <cstdint>

#include "runtime/threads/clock.hpp"

namespace leasehold::bench {

/// The clock that all processes of a benchmark share, in ns.
[[nodiscard]] inline std::int64_t boot_ns() {
  static const auto clock = runtime::boottime_clock();
  return clock->now().time_since_epoch().count();
}

}  // namespace leasehold::bench
