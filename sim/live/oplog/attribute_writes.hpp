#pragma once

#include "model/history/history.hpp"

namespace leasehold::sim::live {

/// The documents of the published locks do not say which command wrote them: "distributed-lock"
/// shows a GUID, which stays the same over extensions, others show nothing. Gives every `put` the
/// lock_id of the command that wrote it: by the time of an acknowledged write, else the first
/// command of that GUID, or of that lock, that was not answered. A write that fits none stays as it
/// is.
void attribute_writes(model::History& history);

}  // namespace leasehold::sim::live
