#include "cli/run/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace leasehold::cli {

/// Best effort: a failure to notify must not stop the job.
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

int watchdog_period_ms() {
  const auto number_in = [](const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0LL : std::strtoll(text, nullptr, 10);
  };
  constexpr long long kMost_ms = 3'600'000;
  const auto of = number_in("WATCHDOG_PID"), period_us = number_in("WATCHDOG_USEC");
  if (period_us <= 0 || (of != 0 && of != getpid())) return -1;
  return static_cast<int>(std::clamp<long long>(period_us / 2'000, 1, kMost_ms));
}

void tell_watchdog() {
  if (watchdog_period_ms() > 0) tell_service_manager("WATCHDOG=1");
}

}  // namespace leasehold::cli
