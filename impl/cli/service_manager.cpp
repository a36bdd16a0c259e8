#include "cli/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace leasehold::cli {

/// Failures are not reported: no service manager is better off for a lock that is not taken.
void tell_service_manager(const std::string& assignments) {
  const char* named = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (named == nullptr || *named == '\0') return;
  const std::size_t length = std::strlen(named);
  if (length >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, named, length);
  if (*named == '@') address.sun_path[0] = '\0';  // of the abstract namespace
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  (void)!sendto(fd, assignments.data(), assignments.size(), MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address), size);
  close(fd);
}

}  // namespace leasehold::cli
