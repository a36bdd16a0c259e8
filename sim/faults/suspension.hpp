#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace leasehold::sim {

/// A time, by the harness's clock, in which a process's machine and its clocks stood still. Those
/// of one machine are in order and do not overlap.
struct Suspension {
  std::int64_t from_ns = 0, for_ns = 0;
};

/// What a clock shows that stood still meanwhile and is true otherwise.
[[nodiscard]] inline std::int64_t ran_until(std::span<const Suspension> all, std::int64_t true_ns) {
  auto ran = true_ns;
  for (const auto& s : all) ran -= std::clamp<std::int64_t>(true_ns - s.from_ns, 0, s.for_ns);
  return ran;
}

/// The first true time at which that clock shows this.
[[nodiscard]] inline std::int64_t true_time_of(std::span<const Suspension> all,
                                               std::int64_t ran_ns) {
  auto time = ran_ns;
  for (const auto& s : all) time += time > s.from_ns ? s.for_ns : 0;
  return time;
}

}  // namespace leasehold::sim
