#pragma once

#include <chrono>
#include <cstdint>

#include "core/time.hpp"

/// What the parts of CoreSystem share: its clock, and the numbers of what it finds.
namespace leasehold::sim::explored::terms {

// One lock: names do not influence each other in the core but by the queue and by batches, which
// other tests are about.
inline constexpr const char* kName = "lock";
/// All times of a behaviour are whole ticks. Its length in ms only has to be one that the lock's
/// options allow.
inline constexpr std::chrono::milliseconds kTick{100};
// Three: an extension can be late by one tick, and be tried again, before the lease is over.
inline constexpr int kLeaseTicks = 3;
/// An owner's random number names its process, so a document shows whose it is without a table.
inline constexpr unsigned kOwnerShift = 40;  ///< the process, in what its entropy draws

/// Both processes' clocks are equal: drift is the virtual world's matter. An hour from zero, so
/// that no instant of a behaviour is one that was never set.
inline core::LocalInstant local(unsigned tick) {
  return core::LocalInstant(std::chrono::hours(1) + tick * kTick);
}

// The values are stored in a state, four bits of it; the names are `kBroken`, in this order.
enum Broken : unsigned { none, g1, g2, g4, g5, g6, g7, orphan, arrow };
// Bits, named by `seen_events` in this order. If one is never seen, the scope is too small for its
// verdict to say anything.
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
