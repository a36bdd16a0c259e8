#pragma once

#include <leasehold/lock_options.hpp>
#include <string>

#include "sim/plan/plan.hpp"

namespace leasehold::sim {

/// The options of the locks of one of the process's callers. A published lock knows no margin.
[[nodiscard]] LockOptions options_of(const ProcessPlan& plan, const std::string& lock,
                                     std::int64_t clock_margin_ms, int caller = 0);

/// Whether its calls stand in the lock's queue, and hear by a change stream. The waiting strategy
/// decides it, as in the core. A published lock polls, whatever its strategy.
[[nodiscard]] bool waits_in_queue(const ProcessPlan& plan, const std::string& lock);

/// How many commands a process may have under way. A scripted process has a single connection
/// unless its plan says otherwise, so that a step's command finds one that stands.
[[nodiscard]] int workers_of(const ProcessPlan& plan);

/// The range from which a long holding of the process is drawn.
struct LongHolding {
  std::int64_t least_ms, most_ms;
};
[[nodiscard]] LongHolding long_holding(const ProcessPlan& plan, const LockOptions& options);

}  // namespace leasehold::sim
