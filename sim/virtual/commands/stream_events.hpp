#pragma once

#include "sim/virtual/commands/collection.hpp"

/// What a change stream reports of a write, and which of it a cursor asked for.
namespace leasehold::sim::simulated {

/// The event of a write that turned `before` into `change.after`: a deletion, an insertion, or an
/// update, with its changes or, if that is shorter in the oplog, the whole document.
[[nodiscard]] Object stream_event(const Change& change, const Document& before, Timestamp at);

/// As `$match` decides: fields by paths with dots, compared with text, a pattern or `$exists`, and
/// `$or` of such. Throws Unsupported for anything else.
[[nodiscard]] bool event_matches(const Object& match, const Object& event);

/// Only these paths of the event: `$project` with ones alone.
[[nodiscard]] Object projected(const Object& projection, const Object& event);

}  // namespace leasehold::sim::simulated
