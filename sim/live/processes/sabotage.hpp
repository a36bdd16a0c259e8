#pragma once

#include <memory>
#include <string>

#include "core/transport.hpp"
#include "sim/candidate.hpp"

namespace leasehold::sim::live {

/// A transport that changes commands on their way. Commands with changed bytes go by a connection
/// of its own.
[[nodiscard]] std::shared_ptr<core::Transport> changed_transport(
    std::shared_ptr<core::Transport> real, const Changes& changes, const std::string& uri,
    const std::string& database, const std::string& collection);

}  // namespace leasehold::sim::live
