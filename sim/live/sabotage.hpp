#pragma once

#include <memory>
#include <string>

#include "core/transport.hpp"
#include "sim/lock_registry.hpp"

namespace leasehold::sim::live {

/// A transport on which commands are sabotaged on their way, on a connection of its own.
/// REQUIRES: deletes_without_owner or writes_for_one.
[[nodiscard]] std::shared_ptr<core::Transport> sabotaged_transport(
    std::shared_ptr<core::Transport> real, Sabotage sabotage, const std::string& uri,
    const std::string& database, const std::string& collection);

}  // namespace leasehold::sim::live
