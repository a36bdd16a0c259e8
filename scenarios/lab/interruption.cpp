#include "scenarios/lab/interruption.hpp"

#include <signal.h>

#include <atomic>

namespace leasehold::lab {
namespace {

std::atomic<bool> came = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may write it

}  // namespace

void catch_interruptions() {
  for (const int number : {SIGINT, SIGTERM}) signal(number, [](int) { came = true; });
}

bool interrupted() { return came; }

}  // namespace leasehold::lab
