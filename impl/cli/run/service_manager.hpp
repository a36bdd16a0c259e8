#pragma once

#include <string>

namespace leasehold::cli {

/// The protocol of sd_notify(3): assignments, a line each, in one datagram to the socket that
/// NOTIFY_SOCKET names. Nothing happens without one. Written by hand, because it is one sendto and
/// libsystemd would be a dependency of every machine that takes a lock.
void tell_service_manager(const std::string& assignments);

/// Half of the interval in which it wants WATCHDOG=1, in ms (WATCHDOG_USEC); -1: none.
[[nodiscard]] int watchdog_period_ms();
/// Reports that this process is alive, if that is wanted.
void tell_watchdog();

}  // namespace leasehold::cli
