#include "scenarios/lab/interruption.hpp"

#include <signal.h>

#include <atomic>

namespace leasehold::lab {
namespace {

std::atomic<bool> came = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may write it

}  // namespace

void catch_interruptions() {
  const auto note = [](int) { came = true; };
  for (const int number : {SIGINT, SIGTERM}) signal(number, note);
  // The terminal is gone; under nohup the process goes on.
  if (signal(SIGHUP, note) == SIG_IGN) signal(SIGHUP, SIG_IGN);
}

bool interrupted() { return came; }

}  // namespace leasehold::lab
