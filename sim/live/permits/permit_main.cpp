#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <leasehold/leasehold.hpp>
#include <random>
#include <thread>

#include "runtime/threads/clock.hpp"

namespace {

using namespace leasehold;
using std::chrono::milliseconds;

/// `yes NS SLOT TOKEN`: held() said so, asked after that time. `no`: it did not any more. `end`:
/// the permit is given back.
void say(const char* what, core::LocalInstant at, const Permit& permit) {
  std::printf("%s %lld %d %lld\n", what, static_cast<long long>(at.time_since_epoch().count()),
              permit.slot, static_cast<long long>(permit.handle.fencing_token().value()));
  std::fflush(stdout);
}

/// Asks again and again whether the permit is held. The stamp is from before the question, so that
/// a pause between the two makes no claim for the time after it.
void use(Permit permit, milliseconds time, const runtime::Clock& clock) {
  const auto until = clock.now() + time;
  for (auto at = clock.now(); at < until; at = clock.now()) {
    const bool held = permit.handle.held();
    say(held ? "yes" : "no", at, permit);
    if (!held) return;
    std::this_thread::sleep_for(milliseconds(2));
  }
  const auto at = clock.now();
  permit.handle.release();
  say("end", at, permit);
}

}  // namespace

/// A process that takes permits of one semaphore again and again until it is killed, and says on
/// standard output what its user saw. Every thirtieth holding is longer than a lease.
int main(int argc, char** argv) {
  if (argc != 5) {
    return std::fprintf(stderr, "usage: %s URI DATABASE PERMITS EXPIRY_MS\n", argv[0]), 64;
  }
  const auto provider = LockProvider::connect(argv[1], {.database = argv[2]}).value();
  LockOptions options;
  options.expiry = milliseconds(std::atoi(argv[4]));
  options.clock_margin = milliseconds(500);
  options.waiting = queue_waiting();
  const auto slots =
      Semaphore::create(provider, "permits", std::atoi(argv[3]), options).value();
  const auto clock = runtime::boottime_clock();
  std::minstd_rand random(static_cast<unsigned>(getpid()));
  for (;;) {
    auto permit = slots.try_acquire(std::chrono::seconds(5));
    if (permit) {
      const bool is_long = random() % 30 == 0;
      use(std::move(*permit), is_long ? 2 * options.expiry : milliseconds(5 + random() % 20),
          *clock);
    } else if (permit.error().kind != ErrorKind::timed_out) {
      std::this_thread::sleep_for(milliseconds(50));  // servers in trouble refuse at once
    }
  }
}
