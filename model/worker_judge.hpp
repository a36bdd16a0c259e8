#pragma once

#include <vector>

#include "model/checkers.hpp"
#include "model/promises.hpp"

/// What a run of a worker of somebody's lock shows: checked by what its users received and, if its
/// author says where its documents are, by the oplog.
namespace leasehold::model {

/// G2 and the protocol, and of G3, G4, G5 and G7 what is promised; where its documents are known,
/// also G1, G6 and G8. A violation is certain however
/// the answers lay between question and arrival; what only a stall of the machine made late is
/// unknown.
[[nodiscard]] std::vector<Finding> judge_worker(const History& history, const Promises& promises);

/// One sentence for each guarantee that `judge_worker` says nothing of, and why: "G4 not promised".
[[nodiscard]] std::vector<std::string> left_out(const Promises& promises);

}  // namespace leasehold::model
