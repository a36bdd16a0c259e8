#pragma once

#include <chrono>
#include <cstdint>

#include "core/time.hpp"

/// What the parts of CoreSystem share: its clock, and the numbers of what it finds.
namespace leasehold::sim::explored::terms {

inline constexpr const char* kName = "lock";
inline constexpr std::chrono::milliseconds kTick{100};
inline constexpr int kLeaseTicks = 3;
inline constexpr unsigned kOwnerShift = 40;  ///< the process, in what its entropy draws

inline core::LocalInstant local(unsigned tick) {
  return core::LocalInstant(std::chrono::hours(1) + tick * kTick);
}

enum Broken : unsigned { none, g1, g2, g4, g5, g6, g7, orphan, arrow };
enum Sight : unsigned {
  takeover_observed,
  takeover_by_clock,
  own_win,
  notified_lost,
  extension,
  ttl,
  late_ghost,
  given_up
};

}  // namespace leasehold::sim::explored::terms
