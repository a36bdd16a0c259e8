#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/dates.hpp"
#include "core/lock_id.hpp"
#include "mongo/bson.hpp"
#include "mongo/json_client.hpp"

/// What people ask of the lock collection, on a connection of its own.
namespace leasehold::cli {

using mongo::Json;

/// One lock document, and the server's clock when it was read.
struct SeenLock {
  std::string name, lock_id, holder;
  std::optional<core::LockIdParts> parts;  ///< none: not a lockId of ours
  std::int64_t acquired_ms = 0, expires_ms = 0, token = 0, now_ms = 0;

  /// Until the server would give it to another; negative: it would already.
  [[nodiscard]] std::int64_t left_ms() const { return expires_ms - now_ms; }
};

/// For one thread. Every call throws Failure with one sentence if no server answers or it refuses.
class Admin {
 public:
  explicit Admin(const Server& server);

  /// In the order of their names.
  [[nodiscard]] std::vector<SeenLock> locks();
  [[nodiscard]] std::optional<SeenLock> lock(const std::string& name);
  /// The last writes of a lock in the oplog, newest first: {at, what, lockId}. An Error if this
  /// role may not read it.
  [[nodiscard]] Result<std::vector<Json>> last_writes(const std::string& name, int count);

  /// The condition on oplog entries that they are of this lock's document.
  [[nodiscard]] Json oplog_of(const std::string& name) const;

  /// The reply, also of a command that failed; `read` is shown its bytes as well.
  Json run(const std::string& database, const Json& command,
           const mongo::JsonClient::Read& read = {});
  /// Fails unless the reply says ok.
  Json must(const std::string& database, const Json& command);
  /// A command of the lock itself, as its bytes say.
  Json must_bytes(const mongo::Bson& command);

  mongo::JsonClient& client() { return client_; }
  [[nodiscard]] const std::string& database() const { return database_; }
  [[nodiscard]] const std::string& collection() const { return collection_; }

 private:
  std::vector<SeenLock> find(const Json& filter);

  mongo::JsonClient client_;
  std::string database_, collection_;
};

[[nodiscard]] Json to_json(const SeenLock& lock);

[[nodiscard]] Failure no_answer(const mongo::NoReply& error);

}  // namespace leasehold::cli
