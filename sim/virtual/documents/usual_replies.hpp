#pragma once

#include <optional>

#include "core/protocol.hpp"
#include "sim/virtual/documents/value.hpp"

namespace leasehold::sim::simulated {

/// What the adapter would read in a reply, without its bytes, for the usual case: a write that
/// succeeded, a command of the production lock, a sound document. Nothing for any other reply,
/// because the adapter's own code reads those.
///
/// Nine of ten replies are usual, and to write and read their bytes took a tenth of a run. The
/// network has the adapter read a share of them too, and compares.
[[nodiscard]] std::optional<core::Reply> usual_reply(const core::Command& command,
                                                     const Object& reply);

}  // namespace leasehold::sim::simulated
