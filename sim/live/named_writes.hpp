#pragma once

#include "model/history.hpp"

namespace leasehold::sim::live {

/// The documents of "distributed-lock" show a GUID, which stays the same over extensions. Gives
/// every `put` the lock_id of the command that wrote it: by the time of an acknowledged write, else
/// the first command of that GUID that nobody answered. A write that fits none keeps its GUID.
void name_writes(model::History& history);

}  // namespace leasehold::sim::live
