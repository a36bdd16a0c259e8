#pragma once

#include <memory>
#include <string>

#include "core/transport.hpp"

namespace leasehold::sim::live {

/// Whether a lock of this name is the production lock with a planted error: "canary" deletes
/// without naming the owner, "leasehold-w1" writes for one member instead of a majority.
[[nodiscard]] bool is_sabotaged(const std::string& lock);

/// A transport on which that lock's commands are sabotaged on their way, on a connection of its
/// own.
[[nodiscard]] std::shared_ptr<core::Transport> sabotaged_transport(
    std::shared_ptr<core::Transport> real, const std::string& lock, const std::string& uri,
    const std::string& database, const std::string& collection);

}  // namespace leasehold::sim::live
