#pragma once

#include <string>

#include "core/protocol.hpp"
#include "mongo/json_client.hpp"

/// A process of a release that knew no queues, beside those of this one: what it writes and reads.
namespace leasehold::sim {

/// The command as such a process sends it: it writes the lockId alone, and whoever queues in the
/// document loses the place. Null: as it is.
[[nodiscard]] mongo::Json without_queue(const core::Command& command,
                                        const std::string& collection);

/// The reply as it reads it.
void hide_queue(core::Reply& reply);

}  // namespace leasehold::sim
