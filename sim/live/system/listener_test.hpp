#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {

/// Takes connections to a port of this process, and says nothing.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = loopback_address();
    socklen_t size = sizeof address;
    bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    listen(socket_, SOMAXCONN);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  struct Accepted {
    int fd, from_port;
  };
  /// The next connection, which stays open until its descriptor is closed.
  [[nodiscard]] Accepted accept_one() const {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const int fd = accept4(socket_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
    return {fd, ntohs(from.sin_port)};
  }

  int port = 0;

 private:
  int socket_;
};

}  // namespace leasehold::sim::live
