#include "sim/virtual/machine_clock.hpp"

#include <algorithm>
#include <limits>

namespace leasehold::sim::simulated {

core::LocalInstant MachineClock::now() const {
  return core::LocalInstant(core::Duration(shown_at(queue_.now())));
}

core::WallInstant MachineClock::wall() const {
  return {epoch_ms_ + queue_.now() / kMs + wall_offset_ms};
}

/// In whole grains and without floating point: a clock that drifts shows the same on every machine.
std::int64_t MachineClock::shown_after(std::int64_t ran_ns) const {
  return ran_ns + ran_ns / kGrain * drift_ppm_ / (1'000'000 / kGrain);
}

std::int64_t MachineClock::shown_at(std::int64_t true_ns) const {
  return shown_after(ran_until(suspensions_, true_ns));
}

std::int64_t MachineClock::true_time(std::int64_t shown_ns) const {
  // The inverse is off by rounding; two grains below it is certainly not too late, and from there
  // the first grain that shows enough is a few steps away. 128 bits, for ns times a million
  // overflow 64 after a few hours.
  const auto estimate = static_cast<std::int64_t>(static_cast<__int128>(shown_ns) * 1'000'000 /
                                                  (1'000'000 + drift_ppm_));
  std::int64_t ran = std::max<std::int64_t>(estimate / kGrain - 2, 0) * kGrain;
  while (shown_after(ran) < shown_ns) ran += kGrain;
  return true_time_of(suspensions_, ran);
}

void MachineClock::stand_still() {
  // For as long as it lasts its end is not known. Half of the range, so that adding to it cannot
  // overflow.
  constexpr auto kForNow = std::numeric_limits<std::int64_t>::max() / 2;
  suspensions_.push_back({queue_.now(), kForNow});
}

void MachineClock::go_on() {
  suspensions_.back().for_ns = queue_.now() - suspensions_.back().from_ns;
}

}  // namespace leasehold::sim::simulated
