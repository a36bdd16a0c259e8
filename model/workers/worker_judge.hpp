#pragma once

#include <string>
#include <vector>

#include "model/verdict/finding.hpp"
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

/// The digest of a worker's history, for the guarantees. Each answer has an earliest time,
/// `sent_ns`, and a latest one, its arrival: a check takes the one that favours the lock.
///
/// A holder has the lock from its grant on, and for the time that it was given. A document is a
/// call's if no other call can have written it: then its writes have a lockId, that of the grant.
///
/// Both have to outlive it.
[[nodiscard]] Digest worker_digest(const History& history, const Promises& promises);

/// By id of the lock's name: its calls, in the order of asking.
[[nodiscard]] Lists<const SessionDigest*> worker_calls(const Digest& d);

/// G7 of a worker's lock: each call ends `on_time`, and gets a lock that no other call can have.
void check_waits(const Digest& d, Finding& f,
                 void (*on_time)(const Digest&, Finding&, const SessionDigest&));

}  // namespace leasehold::model
