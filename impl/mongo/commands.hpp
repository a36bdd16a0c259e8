#pragma once

#include <string>

#include "core/protocol.hpp"
#include "mongo/bson.hpp"

/// The bytes of every command, built purely: tested without a server, and executed by the simulated
/// one. The shapes and why they are so: `impl/README.md`.
namespace leasehold::mongo {

/// `timeout` is how long the caller waits for the reply; the server's own limits stay below it.
[[nodiscard]] Bson build(const core::Command& command, const std::string& collection);

}  // namespace leasehold::mongo
