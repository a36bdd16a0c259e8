#pragma once

#include <string>
#include <vector>

#include "model/checkers.hpp"
#include "sim/live/replica_set.hpp"
#include "sim/plan.hpp"

namespace leasehold::properties {

/// Keeps a run as a folder that `leasehold-lab check` reads: plan.scn, history.jsonl, verdict.txt
/// and the members' logs. Makes the folder; files of a run before are replaced. Throws
/// std::filesystem::filesystem_error if the folder cannot be made.
void keep_run(const std::string& folder, const sim::Plan& plan, const model::History& history,
              const std::vector<model::Finding>& findings, const sim::live::ReplicaSet* servers);

}  // namespace leasehold::properties
