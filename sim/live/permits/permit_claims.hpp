#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace leasehold::sim::live {

/// A process held this permit at this time, by its own `held()`.
struct PermitClaim {
  std::string process;
  std::int64_t at_ns = 0;
  int slot = 0;
  std::int64_t token = 0;
};

/// The check of what processes that share a semaphore saw of it. Each result is certain, because a
/// permit counts as held only from the first to the last time at which `held()` said so.
struct PermitVerdict {
  int grants = 0;
  int overlaps = 0;  ///< a slot's next permit was held while the one before still was
  int falling = 0;   ///< a slot's next permit had no greater token
  int most = 0;      ///< permits held at once
};
[[nodiscard]] PermitVerdict judge_permits(const std::vector<PermitClaim>& claims);

/// Jain's index: 1 if all had the same number, 1/n if one had all; 0 for no counts.
[[nodiscard]] double jains_index(const std::vector<double>& counts);

}  // namespace leasehold::sim::live
