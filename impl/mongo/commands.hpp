#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "core/protocol.hpp"
#include "mongo/bson.hpp"

/// The bytes of every command, built purely: tested without a server, and executed by the simulated
/// one. The shapes and why they are so: `impl/README.md`.
namespace leasehold::mongo {

/// The server answers first: wtimeout < maxTimeMS < our own timer.
struct Limits {
  std::int64_t wtimeout_ms = 1, max_time_ms = 1;
};
[[nodiscard]] inline Limits limits_of(std::chrono::milliseconds timeout) {
  return {std::max<std::int64_t>(timeout.count() * 8 / 10, 1),
          std::max<std::int64_t>(timeout.count() * 9 / 10, 1)};
}

/// `timeout` is how long the caller waits for the reply; the server's own limits stay below it.
[[nodiscard]] Bson build(const core::Command& command, const std::string& collection);

// The stage of each command's update pipeline: the rules of the lock, as the server computes them.
// The queue is in the document (`core/document/lock_queue.hpp`), and each write drops the entries
// that are over.

/// Takes the lock if it is free for the owner. Else the document is not changed; but a call that
/// queues has an entry then, in place of an earlier one of the same owner, or at the end unless the
/// queue is full. A document of another form is not changed: its holder would not know its own
/// lockId any more.
///
/// A reader joins other readers, unless a writer waits before it or they are as many as may be:
/// then it is refused like any call. Its entry stands once, however often the command is executed.
[[nodiscard]] Bson stage_of(const core::AcquireCommand& command);

/// Takes the lock, whoever holds it.
[[nodiscard]] Bson stage_of(const core::HandOverCommand& command);

/// Extends the lock, or the entry of a reader, and does not change the queue.
[[nodiscard]] Bson stage_of(const core::ExtendStatement& statement);

/// Leaves the document without the command's owners. What nobody holds then goes to the first of
/// the queue. With `readers`, it goes to all readers of the queue if the first reads, and so does
/// what others still read.
[[nodiscard]] Bson stage_of(const core::PassOnCommand& command);

/// The lockId of the document's holder alone.
[[nodiscard]] Bson holders_lock_id();

}  // namespace leasehold::mongo
