#pragma once

#include "sim/virtual/collection.hpp"

/// What a change stream reports of a write, and which of it a cursor asked for.
namespace leasehold::sim::simulated {

/// The event of a write that left `change.after` of what `before` was: a deletion, an insertion,
/// and of an update what it changed, or the whole document if that is shorter in the oplog.
[[nodiscard]] Object stream_event(const Change& change, const Document& before, Timestamp at);

/// As `$match` decides: fields by paths with dots, compared with text, a pattern or `$exists`, and
/// `$or` of such. Throws Unsupported for anything else.
[[nodiscard]] bool event_matches(const Object& match, const Object& event);

/// Of the event only these paths: `$project` with ones alone.
[[nodiscard]] Object projected(const Object& projection, const Object& event);

}  // namespace leasehold::sim::simulated
