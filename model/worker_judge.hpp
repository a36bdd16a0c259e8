#pragma once

#include <vector>

#include "model/checkers.hpp"
#include "model/promises.hpp"

/// What a run of a worker of somebody's lock shows: checked by what its users received, for nothing
/// of its inside is known.
namespace leasehold::model {

/// G2 by what the lock answered its holders, and the protocol. No other guarantee is checked.
[[nodiscard]] std::vector<Finding> judge_worker(const History& history);

/// One sentence for each guarantee that `judge_worker` says nothing of, and why: "G4 not promised".
[[nodiscard]] std::vector<std::string> left_out(const Promises& promises);

}  // namespace leasehold::model
