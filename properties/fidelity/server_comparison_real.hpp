#pragma once

#include <memory>

#include "properties/fidelity/server_comparison.hpp"

namespace leasehold::properties {

/// A replica set of its own, with member 0 primary. Throws sim::live::NoMongod.
[[nodiscard]] std::unique_ptr<Cluster> real_cluster();

}  // namespace leasehold::properties
