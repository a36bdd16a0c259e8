#include "runtime/threads/clock.hpp"

#include <time.h>

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

}  // namespace

core::WallInstant Clock::wall() const {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return {t.tv_sec * 1'000 + t.tv_nsec / 1'000'000};
}

std::shared_ptr<const Clock> boottime_clock() { return std::make_shared<BoottimeClock>(); }

}  // namespace leasehold::runtime
