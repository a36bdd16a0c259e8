#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/explorer.hpp"
#include "model/finding.hpp"
#include "sim/explored/core_system.hpp"

/// What checks runs, asked of an exploration of the production core: each path is a run, whose
/// every step has to be one that the abstract lock can take.
namespace leasehold::properties {

/// What came of some paths.
struct ExploredPaths {
  std::uint64_t checked = 0;  ///< paths
  std::uint64_t all = 0;      ///< those that are no part of another, of which these were taken
  std::vector<model::Finding> findings;
  model::Verdict verdict = model::Verdict::unknown;
  std::string why = "no path was checked";  ///< unless it holds
  std::vector<std::string> story = {};      ///< of the path that does not hold
};

/// At most so many, evenly among all; less than all of them say little of steps that are rare.
/// Stops at the first that does not hold. What has to come about within a time is not asked: a path
/// ends anywhere. `go_on` is asked before each, with how many were checked; false: enough, and the
/// verdict is unknown.
/// REQUIRES: the explorer has run, and is of this system.
[[nodiscard]] ExploredPaths check_paths(
    const sim::explored::CoreSystem& system,
    const model::Explorer<sim::explored::CoreSystem>& explorer, std::uint64_t most,
    const std::function<bool(std::uint64_t)>& go_on = [](std::uint64_t) { return true; });

}  // namespace leasehold::properties
