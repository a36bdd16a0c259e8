#pragma once

#include <optional>

#include "core/protocol.hpp"
#include "sim/virtual/value.hpp"

namespace leasehold::sim::simulated {

/// What the adapter reads in a reply, without its bytes: of a write that succeeded, to a command of
/// the production lock, about a document that is as it should be. Nothing for any other: the
/// adapter's own code reads those.
///
/// Worth it: nine of ten replies are such, and to write and read their bytes took a tenth of a run.
/// The network has the adapter read a share of them too, and compares.
[[nodiscard]] std::optional<core::Reply> usual_reply(const core::Command& command,
                                                     const Object& reply);

}  // namespace leasehold::sim::simulated
