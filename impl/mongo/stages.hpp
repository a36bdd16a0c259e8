#pragma once

#include "core/protocol.hpp"
#include "mongo/bson.hpp"

/// The stage of each command's update pipeline: the rules of the lock, as the server computes them.
/// The queue is in the document (`core/document/lock_queue.hpp`), and each write drops the
/// entries that are over.
namespace leasehold::mongo {

/// Takes the lock if it is free for the owner. Else the document is not changed; but a call that
/// queues has an entry then, in place of an earlier one of the same owner, or at the end unless the
/// queue is full. A document of another form is not changed: its holder would not know its own
/// lockId any more.
[[nodiscard]] Bson stage_of(const core::AcquireCommand& command);

/// Takes the lock, whoever holds it.
[[nodiscard]] Bson stage_of(const core::HandOverCommand& command);

/// Extends the lock, and does not change its queue.
[[nodiscard]] Bson stage_of(const core::ExtendStatement& statement);

/// Leaves the document without the command's owners.
[[nodiscard]] Bson stage_of(const core::PassOnCommand& command);

/// The lockId of the document's holder alone.
[[nodiscard]] Bson holders_lock_id();

}  // namespace leasehold::mongo
