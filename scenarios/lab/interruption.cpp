#include "scenarios/lab/interruption.hpp"

#include <signal.h>

#include <atomic>

#include "cli/inherited.hpp"

namespace leasehold::lab {
namespace {

std::atomic<bool> came = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may write it

}  // namespace

void catch_interruptions() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (!cli::was_ignored(number)) signal(number, [](int) { came = true; });
  }
}

bool interrupted() { return came; }

}  // namespace leasehold::lab
