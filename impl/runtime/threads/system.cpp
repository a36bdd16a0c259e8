#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#include <atomic>

#include "core/check.hpp"
#include "runtime/threads/clock.hpp"
#include "runtime/threads/fork.hpp"
#include "runtime/threads/os_entropy.hpp"

namespace leasehold::runtime {
namespace {

class BoottimeClock final : public Clock {
 public:
  core::LocalInstant now() const override {
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return core::LocalInstant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }
};

class OsEntropy final : public core::Entropy {
 public:
  std::uint64_t draw() override {
    std::uint64_t value = 0;
    LEASEHOLD_CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
    return value;
  }
};

std::atomic<int> forks_so_far = 0;

}  // namespace

core::WallInstant Clock::wall() const {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return {t.tv_sec * 1'000 + t.tv_nsec / 1'000'000};
}

std::shared_ptr<const Clock> boottime_clock() { return std::make_shared<BoottimeClock>(); }

std::unique_ptr<core::Entropy> os_entropy() { return std::make_unique<OsEntropy>(); }

int fork_generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks_so_far; });
  (void)registered;
  return forks_so_far;
}

}  // namespace leasehold::runtime
