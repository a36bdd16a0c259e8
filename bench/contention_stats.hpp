#pragma once

#include <cstdint>
#include <vector>

namespace leasehold::bench {

/// One acquisition of one caller, in ns of one clock that all contenders share.
struct Taken {
  std::int64_t caller = 0;
  std::int64_t asked = 0, granted = 0, released = 0;  ///< released: when the release was called
  bool operator==(const Taken&) const = default;
};

/// What a load did to its waiters.
struct Contention {
  double acquisitions_per_s = 0;
  double mean_hold_ms = 0;
  double wait_p50_ms = 0, wait_p99_ms = 0, wait_max_ms = 0;
  /// From a release to the next grant, where somebody was waiting by then.
  double hand_over_p50_ms = 0, hand_over_p99_ms = 0;
  /// Jain's index of the callers' acquisitions in windows of 2 s, on average: 1 is perfectly fair.
  double jain = 0;
};

/// Of what was granted in [from, to) ns; `callers` also counts those that got nothing.
[[nodiscard]] Contention measure(std::vector<Taken> taken, std::int64_t callers, std::int64_t from,
                                 std::int64_t to);

/// The value below which a share `q` of the values lies; 0 for none.
[[nodiscard]] double quantile(std::vector<double> values, double q);

}  // namespace leasehold::bench
