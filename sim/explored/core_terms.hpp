#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "core/time.hpp"

/// What the parts of CoreSystem share: its clock, and the numbers of its findings.
namespace leasehold::sim::explored::terms {

/// The locks of a scope: names influence each other only if one command has several.
inline constexpr std::array<const char*, 2> kNames{"lock", "second"};
/// All times of a behaviour are whole ticks. Any length in ms will do that the lock's options
/// allow, with a lease long enough for extensions to travel in batches.
inline constexpr std::chrono::milliseconds kTick{700};
// Three: an extension can be late by one tick, and be tried again, before the lease is over.
inline constexpr int kLeaseTicks = 3;
/// The greatest drift that the options allow, so that a tick shows it.
inline constexpr double kMostDrift = 0.1;
/// An owner's random number names its process, so a document shows its process without a table.
inline constexpr unsigned kOwnerShift = 40;  ///< the process, in what its entropy draws

/// A clock that is too fast by this. It begins an hour from zero, because an instant of zero is one
/// that was never set.
inline core::LocalInstant local(unsigned tick, int drift_permille) {
  const std::chrono::milliseconds elapsed = tick * kTick * (1'000 + drift_permille) / 1'000;
  return core::LocalInstant(std::chrono::hours(1) + elapsed);
}

// The values are stored in a state, four bits of it; the names are `kBroken`, in this order.
enum Broken : unsigned { none, g1, g2, g4, g5, g6, g7, orphan, arrow };
// Bits, named by `seen_events` in this order. If one is never seen, the scope is too small for a
// verdict.
enum Sight : unsigned {
  takeover_observed,
  takeover_by_clock,
  own_win,
  notified_lost,
  extension,
  ttl,
  late_ghost,
  given_up,
  handed_over,
  passed_on,
  both_extended,
  rolled_back_write,
  old_primary_denies
};

}  // namespace leasehold::sim::explored::terms
