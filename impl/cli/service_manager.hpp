#pragma once

#include <string>

namespace leasehold::cli {

/// The protocol of sd_notify(3): assignments, a line each, in one datagram to the socket that
/// NOTIFY_SOCKET names. Nothing happens without one. By hand, for it is one sendto, and libsystemd
/// would be a dependency of every machine that takes a lock.
void tell_service_manager(const std::string& assignments);

}  // namespace leasehold::cli
