#include <signal.h>

#include "cli/output.hpp"
#include "cli/run/service_manager.hpp"
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
