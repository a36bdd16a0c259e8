#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "core/protocol.hpp"
#include "mongo/bson.hpp"
#include "mongo/client/json_client.hpp"

/// What people ask of the lock collection, on a connection of its own.
namespace leasehold::cli {

using mongo::date_ms;
using mongo::Json;

/// One lock document, and the server's clock when it was read.
struct SeenLock {
  explicit SeenLock(core::LockDocument read);
  SeenLock(const SeenLock&) = delete;  ///< `id` is a view of `document`
  SeenLock& operator=(const SeenLock&) = delete;

  core::LockDocument document;
  std::optional<core::LockId> id;  ///< none: not a lockId of ours
  std::size_t waiting = 0;         ///< how many are in its queue

  /// "held", "held by other software", "expired", "free", "corrupt".
  [[nodiscard]] const char* state() const;
  /// The holder, for people; or what is wrong with the document.
  [[nodiscard]] std::string holder() const;
  [[nodiscard]] bool is_corrupt() const { return !document.corruption.empty(); }
  [[nodiscard]] bool is_free() const { return document.is_free(); }
  /// Until a process that tries once gets the lock; negative: it would now.
  [[nodiscard]] std::int64_t left_ms() const;
  /// 0: the document does not say.
  [[nodiscard]] std::int64_t since_ms() const { return document.acquired_at.since_1970_ms; }
  [[nodiscard]] std::int64_t now_ms() const { return document.read_at.since_1970_ms; }
};

/// For one thread. Every call throws Failure with one sentence if no server answers or it refuses.
class Admin {
 public:
  explicit Admin(const Server& server);

  /// Calls `use` with each, in the order of their names; as many as there are, in little memory.
  void each_lock(const std::function<void(const SeenLock& lock)>& use);
  /// Fails if it is free.
  [[nodiscard]] std::unique_ptr<const SeenLock> held_lock(const std::string& name);
  /// The last writes of a lock in the oplog, newest first: {at, what, lockId}. An Error if this
  /// role may not read it.
  [[nodiscard]] Result<std::vector<Json>> last_writes(const std::string& name, int count);

  /// The condition on oplog entries that they are of this lock's document.
  [[nodiscard]] Json oplog_of(const std::string& name) const;

  /// The reply, also of a command that failed; `read` is shown its bytes as well.
  Json run(const std::string& database, const Json& command,
           const mongo::JsonClient::Read& read = {});
  /// Fails unless the reply says ok.
  Json must(const std::string& database, const mongo::Bson& command);
  /// A command of the lock itself. Fails unless the server executed it.
  core::Reply must_command(const core::Command& command);
  /// Calls `use` with the bytes of each document that a `find` finds.
  void each(const std::string& database, const Json& find, const mongo::JsonClient::Read& use);

  mongo::JsonClient& client() { return client_; }
  [[nodiscard]] const std::string& database() const { return database_; }
  [[nodiscard]] const std::string& collection() const { return collection_; }
  [[nodiscard]] std::string space() const { return database_ + '.' + collection_; }

 private:
  [[nodiscard]] Json find(const Json& filter) const;
  template <typename Ask>
  auto answered(Ask ask) const;

  const std::string uri_;
  mongo::JsonClient client_;
  std::string database_, collection_;
};

[[nodiscard]] Json to_json(const SeenLock& lock);

}  // namespace leasehold::cli
