#pragma once

#include <vector>

#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"

/// Checks a run of a worker of a third-party lock: by what its users received and, if its author
/// says where its documents are, by the oplog.
namespace leasehold::model {

/// Those that only the oplog shows, if its author says where the lock's documents are.
inline constexpr CheckSet kByDocuments{Check::G1, Check::G6, Check::G8};

/// Checks G2, the protocol, and those of G3, G4, G5 and G7 that are promised; if its documents are
/// known, also those. A violation is reported only if it holds for every possible time of
/// the answers. If only a stall of the machine made something late, the verdict is unknown.
[[nodiscard]] std::vector<Finding> judge_worker(const History& history, const Promises& promises);

/// A sentence for each guarantee that `judge_worker` does not check, with the reason: "G4 not
/// promised".
[[nodiscard]] std::vector<std::string> left_out(const Promises& promises);

}  // namespace leasehold::model
