#include <signal.h>

#include <cstdio>

#include "cli/service_manager.hpp"
#include "cli/taken_locks.hpp"

namespace leasehold::cli {
namespace {

const char* kUsageLine =
    "leasehold hold --lock NAME [OPTIONS]\n\n"
    "Holds the lock until it is ended by a signal, and then releases it; for systemd units and\n"
    "scripts. When it has the lock it prints a line with name and fencing token, and tells the\n"
    "service manager that it is ready. Exit codes: 0 ended by SIGTERM or SIGINT, 64 bad usage,\n"
    "69 no server answers or access is denied, 75 the lock was not free in time, 76 the lock was\n"
    "lost, 128 + N ended by another signal N, or by any while waiting.";

/// One line a lock, so that a script may read it.
void print(const TakenLocks& locks) {
  for (std::size_t i = 0; i < locks.names().size(); ++i) {
    std::printf("holding %s %s\n", locks.handles()[i].fencing_token().to_string().c_str(),
                locks.names()[i].c_str());
  }
  std::fflush(stdout);
}

/// The signal that ended it; 0: a lock was lost.
int wait_for_end(const TakenLocks& locks, const Signals& signals) {
  const Bell bell;
  const auto lost = locks.ring_when_lost(bell);
  while (locks.remaining() > std::chrono::nanoseconds(0)) {
    wait_for(signals, bell, -1);
    if (const int signal = signals.next()) return signal;
  }
  return 0;
}

}  // namespace

int hold(const std::vector<std::string>& words) {
  auto all = lock_options();
  all.add(server_options());
  const auto order = lock_order_of(parse(kUsageLine, all, words, lock_names()));
  const Signals signals;
  TakenLocks locks(order, signals);
  print(locks);
  tell_service_manager("READY=1\nSTATUS=holding " + order.described());
  const int signal = wait_for_end(locks, signals);
  tell_service_manager("STOPPING=1");
  if (signal == 0) order.report(order.described() + ": lost");
  locks.release();
  if (signal == 0) return kLost;
  return signal == SIGTERM || signal == SIGINT ? static_cast<int>(kDone) : kSignalled + signal;
}

}  // namespace leasehold::cli
