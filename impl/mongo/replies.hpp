#pragma once

#include <bson/bson.h>

#include <optional>
#include <string>

#include "core/protocol.hpp"

/// What a reply says, read in the one safe order: errors before counts, the lockId before the write
/// concern. Pure.
namespace leasehold::mongo {

/// What a server error code says about the command: the one table of errors. A code that is not
/// listed is unknown: a wrong "unknown" costs one delete, a wrong "failed" an orphan.
[[nodiscard]] core::Outcome outcome_of_error(int code);

/// What a server says of a command that is not permitted, less the command, which it repeats whole.
[[nodiscard]] std::string without_command(std::string message);

/// The code of a server for a collection that is not there.
inline constexpr int kNamespaceNotFound = 26;

/// Whether one statement's error says that the member lost its office or its time, so that nothing
/// in the reply is reliable for any other statement either.
[[nodiscard]] bool spoils_whole_batch(int code);

/// Whether a write-concern error can never go away by itself (an unsatisfiable or unknown `w`).
[[nodiscard]] bool is_permanent_write_concern_error(int code);

/// The reply to `command`, as a server sent it.
[[nodiscard]] core::Reply read_reply(const core::Command& command, const bson_t& reply);

/// A lock document, whatever the types of its fields, with its dates and the server's time if that
/// was projected as `now`. An `_id` that is no string gives no name.
[[nodiscard]] core::LockDocument read_lock_document(const bson_t& document);

/// The keys of the unique index that a duplicate met, "{a, b}": of the command, or of its first
/// statement with an error. "{}" if the reply does not tell.
[[nodiscard]] std::string duplicate_index(const bson_t& reply);

/// Whether a mongos, the router of a sharded cluster, sent this `hello` reply.
[[nodiscard]] bool is_mongos(const bson_t& hello);

/// Why a cluster's collection cannot hold locks, by what config.collections has of it, or nothing
/// if it can. Not known is no.
[[nodiscard]] std::optional<core::Reply> refusal_of_sharding(const bson_t& entries);
/// Whether `collStats` has answered, and says that there is no need to ask for the above.
[[nodiscard]] bool says_unsharded(const bson_t& stats);

/// Whether admin.system.version has a shardIdentity: the set is a shard of a cluster.
[[nodiscard]] bool is_of_a_shard(const bson_t& identities);
inline constexpr const char* kIsAShard =
    "the set is a shard of a cluster: connect through its mongos, because documents of dead "
    "holders stay in a database that the cluster does not know of";

/// Why the member that sent this `hello` reply cannot hold locks, or nothing if it can.
[[nodiscard]] std::optional<std::string> refusal_of_hello(const bson_t& hello);

/// The same for a member that the driver has chosen: none if a command may be sent to it. Its last
/// `hello` is empty if another thread lost sight of it since; then the next attempt may find it.
[[nodiscard]] std::optional<core::Reply> refusal_of_chosen(const bson_t& hello);

/// What a `listIndexes` reply says of the TTL index: empty if it is as it should be, otherwise what
/// is wrong and what follows from it.
[[nodiscard]] std::string judge_indexes(const bson_t& list_indexes_reply);

}  // namespace leasehold::mongo
