#include "scenarios/lab/interruption.hpp"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "cli/inherited.hpp"

namespace leasehold::lab {
namespace {

// A signal handler may write what is free of locks.
std::atomic<std::int64_t> came_s = 0;  ///< when the first came; 0: none did
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_s() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

/// timeout and sudo send one signal twice at once: that is no second request.
void note(int number) {
  constexpr std::int64_t kTogether_s = 2;
  std::int64_t first = 0;
  if (came_s.compare_exchange_strong(first, now_s()) || now_s() - first < kTogether_s) return;
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void catch_interruptions() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (!cli::was_ignored(number)) signal(number, note);
  }
}

bool interrupted() { return came_s != 0; }

}  // namespace leasehold::lab
