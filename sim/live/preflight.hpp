#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sim/faults/fault.hpp"

namespace leasehold::sim::live {

/// A replica set of somebody else's, looked at before anything runs on it.
struct Preflight {
  std::vector<std::string> missing;  ///< what a run needs, a sentence each, with its remedy
  bool unreachable = false;          ///< no primary answered: nothing else could be looked at
  std::vector<std::string> notes;    ///< with what a verdict has to be read
  std::int64_t ttl_period_ms = 60'000;
  bool test_commands = false;  ///< every member that answers takes those of fail points
};

/// Looks at rights, version, TTL monitor, write concern and clocks, all at once. Writes to
/// `database`, and drops it. `clock_margin_ms`: the least of the plans that are to run; `faults`:
/// the kinds in them, whose rights are needed too.
[[nodiscard]] Preflight look_before_running(const std::string& uri, const std::string& database,
                                            std::int64_t clock_margin_ms,
                                            const std::set<FaultPlan::Kind>& faults = {});

/// Drops what a run wrote, collection by collection: that needs no right but those of the run.
void drop_database(const std::string& uri, const std::string& database);

}  // namespace leasehold::sim::live
