#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>

namespace leasehold::sim::live {

/// For sockets of the system; port 0: any that is free.
inline sockaddr_in loopback_address(int port = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace leasehold::sim::live
