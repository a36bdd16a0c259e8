#pragma once

#include <string>

namespace leasehold::cli {

/// The protocol of sd_notify(3): assignments, a line each, in one datagram to the socket that
/// NOTIFY_SOCKET names. Nothing happens without one. Written by hand, because it is one sendto and
/// libsystemd would be a dependency of every machine that takes a lock.
void tell_service_manager(const std::string& assignments);

/// How often it wants to hear WATCHDOG=1 of this process, halved, in ms (WATCHDOG_USEC); -1: never.
[[nodiscard]] int watchdog_period_ms();
/// Tells it that this process lives, if it wants to hear that.
void tell_watchdog();

}  // namespace leasehold::cli
