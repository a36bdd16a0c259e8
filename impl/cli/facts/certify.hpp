#pragma once

#include "cli/cli.hpp"

namespace leasehold::cli {

inline constexpr const char* kSetOfOne =
    "a set of one member: no lock can be taken or extended while it is down, and what its disk "
    "loses is lost, held locks included";

/// `doctor --certify`: tries the facts that the lock rests on, and prints what was seen. Returns
/// the exit code. REQUIRES: the servers are a replica set, and `server` names the database.
int certify(const Server& server, bool json);

/// The same of servers that no fact was tried on.
int certify_nothing(const std::string& why, bool json);

}  // namespace leasehold::cli
