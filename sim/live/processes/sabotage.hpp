#pragma once

#include <memory>
#include <string>

#include "core/limits.hpp"
#include "core/transport.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::sim::live {

/// How the commands of a process differ from those of the production lock.
struct Changes {
  Sabotage sabotage = Sabotage::none;  ///< but no virtual one
  bool old_release = false;
  std::size_t queue_room = core::kMostInQueue;
  bool operator==(const Changes&) const = default;
};

/// A transport that changes commands on their way. Commands with changed bytes go by a connection
/// of its own.
[[nodiscard]] std::shared_ptr<core::Transport> changed_transport(
    std::shared_ptr<core::Transport> real, const Changes& changes, const std::string& uri,
    const std::string& database, const std::string& collection);

}  // namespace leasehold::sim::live
