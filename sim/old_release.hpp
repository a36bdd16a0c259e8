#pragma once

#include <string>

#include "core/protocol.hpp"
#include "mongo/client/json_client.hpp"

/// What a process of a release without queues writes and reads, beside processes of this release.
namespace leasehold::sim {

/// The command as such a process sends it: it writes the lockId alone, and owners that queue in the
/// document lose their places. Null: as it is.
[[nodiscard]] mongo::Json without_queue(const core::Command& command,
                                        const std::string& collection);

/// The reply as it reads it.
void hide_queue(core::Reply& reply);

}  // namespace leasehold::sim
