#pragma once

#include <memory>
#include <string>

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

}  // namespace leasehold::mongo
