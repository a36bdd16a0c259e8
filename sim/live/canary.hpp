#pragma once

#include <memory>
#include <string>

#include "core/transport.hpp"

namespace leasehold::sim::live {

/// The lock with a planted error, to try the alarm: a release deletes by name only, whoever holds.
/// Everything else goes through `real`.
[[nodiscard]] std::shared_ptr<core::Transport> canary_transport(
    std::shared_ptr<core::Transport> real, std::string uri, std::string database,
    std::string collection);

}  // namespace leasehold::sim::live
