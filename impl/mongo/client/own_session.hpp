#pragma once

#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mongo/bson.hpp"
#include "mongo/client/client.hpp"
#include "mongo/client/handles.hpp"
#include "mongo/client/sockets.hpp"

namespace leasehold::mongo {

/// A driver client with a session of its own, for commands that belong together: those of one
/// transaction, or of one cursor. The driver puts a fresh session into any other command, and the
/// server refuses a cursor to another session than the one that opened it.
/// Not thread-safe, but for its sockets. REQUIRES: outlived by the pool.
class OwnSession {
 public:
  /// Null: `error` says why.
  static std::unique_ptr<OwnSession> start(mongoc_client_pool_t* pool, bson_error_t& error);
  ~OwnSession();
  OwnSession(const OwnSession&) = delete;
  OwnSession& operator=(const OwnSession&) = delete;

  bool run(const std::string& database, const bson_t* command, Underway& underway,
           ReplyBson& reply, bson_error_t& error);
  [[nodiscard]] mongoc_client_session_t* session() { return session_.get(); }
  [[nodiscard]] mongoc_client_t* client() { return client_; }
  Sockets& sockets() { return sockets_; }

 private:
  explicit OwnSession(mongoc_client_pool_t* pool);

  mongoc_client_pool_t* pool_;
  mongoc_client_t* client_ = nullptr;
  Sockets sockets_;
  SessionHandle session_;
};

/// The sessions of a provider between two commands of theirs, each with the client that began it.
///
/// Each command has its client exclusively: it takes the session out, and puts it back if that
/// lives on. One that begins something starts a client of its own, which is put here at its end. So
/// two commands never meet on one client, whichever workers carry them: one that was given up and
/// still hangs has its session with it, and another command for that finds none meanwhile and
/// leaves the client alone.
///
/// Thread safety: all calls from any thread.
class OwnSessions {
 public:
  /// If there are more than these, the oldest is forgotten.
  explicit OwnSessions(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}

  /// Null: it is not here.
  [[nodiscard]] std::unique_ptr<OwnSession> take(const std::string& key);
  /// REQUIRES: no command runs on it.
  void put(std::string key, std::unique_ptr<OwnSession> session);

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::unique_ptr<OwnSession>>> all_;  ///< protected by mutex_
};

[[nodiscard]] bool in_transaction(const Bson& command);

/// Transactions of the "insert-unique" text: one insert, then a commit, perhaps by another worker.
/// The driver numbers sessions itself, so the session named in the bytes only tells which is meant.
/// Runs the command on its transaction's own client. False: `error` says what the driver says,
/// unless `reply` has an `ok`.
bool run_in_transaction(mongoc_client_pool_t* pool, OwnSessions& open, const std::string& database,
                        const Bson& command, Underway& underway, ReplyBson& reply,
                        bson_error_t& error);

}  // namespace leasehold::mongo
