#pragma once

#include <leasehold/lock_options.hpp>
#include <string>

#include "sim/plan.hpp"

namespace leasehold::sim {

/// The options of the process's locks. A documents' lock knows no margin.
[[nodiscard]] LockOptions options_of(const ProcessPlan& plan, const std::string& lock,
                                     std::int64_t clock_margin_ms);

/// How long a long holding of the process lasts: drawn from the one to the other.
struct LongHolding {
  std::int64_t least_ms, most_ms;
};
[[nodiscard]] LongHolding long_holding(const ProcessPlan& plan, const LockOptions& options);

}  // namespace leasehold::sim
