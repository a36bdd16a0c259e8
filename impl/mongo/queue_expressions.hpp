#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "core/protocol.hpp"
#include "mongo/bson.hpp"

/// What the commands do with the queue in a lock's document (`core/document/lock_queue.hpp`). Each
/// write drops the entries that are over.
namespace leasehold::mongo {

/// `lock_id`, followed by all entries but this owner's, which has stopped waiting.
[[nodiscard]] Bson followed_by_queue(const std::string& lock_id, core::Owner without);

/// `lock_id`, followed by what follows the document's: cheaper, and leaves all as it is.
[[nodiscard]] Bson followed_by_same_queue(const std::string& lock_id);

/// The lockId of the document's holder alone.
[[nodiscard]] Bson holders_lock_id();

/// The document as it is, but for an entry of `command` in its queue: in place of an earlier one of
/// the same owner, else at the end, unless the queue is full. A document of another form stays as
/// it is: its holder would not know its own lockId any more.
[[nodiscard]] Bson queued_document(const core::AcquireCommand& command);

/// The document without the owners of `command`. `token` is the lower bound of this write's.
[[nodiscard]] Bson passed_on_document(const core::PassOnCommand& command, const Bson& token);

}  // namespace leasehold::mongo
