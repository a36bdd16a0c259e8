#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "cli/output.hpp"
#include "cli/run/taken_locks.hpp"

namespace leasehold::cli {
namespace {

const char* kHoldUsage =
    "leasehold hold [OPTIONS] NAME\n\n"
    "Holds the lock until it is ended by a signal, and then releases it; for systemd units and\n"
    "scripts. When it has the lock it prints \"holding TOKEN NAME\" for each, and tells the\n"
    "service manager that it is ready. Exit codes: 0 ended by SIGTERM or SIGINT, 64 bad usage,\n"
    "69 no server answers or access is denied, 74 that line cannot be written, 75 another held\n"
    "the lock for the whole wait, 76 the lock was lost, 128 + N ended by another signal N, or by\n"
    "any while waiting.";

/// Prints one line a lock, so that a script may read it.
void print_tokens(const TakenLocks& locks) {
  for (const auto& handle : locks.handles()) {
    print("holding " + handle.fencing_token().to_string() + ' ' + printable(handle.name()) + '\n');
  }
  flush_output();
}

/// The signal that ended it; 0: a lock was lost.
int wait_for_end(const TakenLocks& locks, const Signals& signals) {
  const Bell bell;
  const auto lost = locks.ring_when_lost(bell);
  while (locks.remaining() > std::chrono::nanoseconds(0)) {
    wait_for(signals, bell, watchdog_period_ms());
    tell_watchdog();
    if (const int signal = signals.next()) return signal;
  }
  return 0;
}

}  // namespace

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

int hold(const std::vector<std::string>& words) {
  auto all = lock_options();
  all.add(server_options());
  auto order = lock_order_of(parse(kHoldUsage, all, words, lock_names()));
  order.is_service = true;
  const Signals signals;
  TakenLocks locks(order, signals);
  print_tokens(locks);
  tell_service_manager("READY=1\nSTATUS=holding " + order.described());
  const int signal = wait_for_end(locks, signals);
  tell_service_manager("STOPPING=1");
  if (signal == 0) say(order.described() + ": lost");
  locks.release();
  if (signal == 0) return kLost;
  return signal == SIGTERM || signal == SIGINT ? static_cast<int>(kDone) : kSignalled + signal;
}

}  // namespace leasehold::cli
