#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"
#include "sim/plan/plan.hpp"

namespace leasehold::properties {

/// Keeps a run as a folder that `leasehold-lab check` reads: plan.scn, history.jsonl, verdict.txt,
/// the members' `logs` and, of a worker of the user's lock, promises.json. Makes the folder; files
/// of a run before are replaced. Throws std::filesystem::filesystem_error if the folder cannot be
/// made.
void keep_run(const std::string& folder, const sim::Plan& plan, const model::History& history,
              const std::vector<model::Finding>& findings, const std::vector<std::string>& logs,
              const std::optional<model::Promises>& promises = {});

/// The promises of a kept run's lock, if it was a worker's: `history` is the folder or a file in
/// it. Throws std::runtime_error that says what is wrong with them.
[[nodiscard]] std::optional<model::Promises> kept_promises(const std::string& history);

}  // namespace leasehold::properties
