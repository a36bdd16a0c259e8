#pragma once

#include <chrono>
#include <cstdint>

namespace leasehold::core {

/// This machine's clock that runs during suspend. It comes in as an argument; the core reads no
/// clock. By one that stands still during suspend, a laptop would call a lease of 30 s valid that
/// ran out while it slept.
struct LocalClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<LocalClock>;
  static constexpr bool is_steady = true;
};
using LocalInstant = LocalClock::time_point;
using Duration = std::chrono::nanoseconds;

/// A date that a server wrote, in ms since 1970. Only servers compare these: there is no conversion
/// to LocalInstant, and no ordering. A client may only ask whether two are equal, because
/// `acquiredAt` names a grant, with its owner.
struct ServerInstant {
  std::int64_t since_1970_ms = 0;
  bool operator==(const ServerInstant&) const = default;
};

/// What this machine's wall clock says, in ms since 1970. Only the published locks read it; there
/// is no conversion from or to the others.
struct WallInstant {
  std::int64_t since_1970_ms = 0;
  bool operator==(const WallInstant&) const = default;
};

/// The clocks of the machine that steps a protocol.
struct Clocks {
  LocalInstant local;
  WallInstant wall;
};

/// The share of `span` that a clock off by `max_drift` may be wrong by. Rounded up, which is the
/// safe side of both that use it: a holder stops earlier by it, an observer waits longer.
inline Duration drift_of(Duration span, double max_drift) {
  return Duration(static_cast<std::int64_t>(static_cast<double>(span.count()) * max_drift) + 1);
}

/// Until when held() may be true: the lease counts from the sending of the command, because the
/// server may have executed it at once, and ends early by what our clock may lag.
///
/// INVARIANT: at this instant the document of that command is still in force, while server clocks
/// differ by less than the clock margin: it is dated `expiry` and that margin from the server's
/// time of the execution, which was not before `sent` (DESIGN.md, "Time").
inline LocalInstant lease_deadline(LocalInstant sent, Duration expiry, double max_drift) {
  return sent + expiry - drift_of(expiry, max_drift);
}

/// When a lockId first seen at `first_seen` proves its holder dead: a full lease after the receipt
/// of the reply that showed it, and later by what our clock may run ahead.
inline LocalInstant sight_matures(LocalInstant first_seen, Duration lease, double max_drift) {
  return first_seen + lease + drift_of(lease, max_drift);
}

}  // namespace leasehold::core
