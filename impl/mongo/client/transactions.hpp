#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mongo/bson.hpp"
#include "mongo/client/own_session.hpp"

/// Transactions of the "insert-unique" text: one insert, then a commit, perhaps by another worker.
/// The driver numbers sessions itself, so the session named in the bytes only tells which is meant.
namespace leasehold::mongo {

[[nodiscard]] bool in_transaction(const Bson& command);

/// Thread safety: all calls from any thread; `pool` outlives it.
class Transactions {
 public:
  explicit Transactions(mongoc_client_pool_t* pool) : pool_(pool) {}

  /// Runs the command on its transaction's own client. False: `error` says what the driver says,
  /// unless `reply` has an `ok`.
  bool run(const std::string& database, const Bson& command, Underway& underway, ReplyBson& reply,
           bson_error_t& error);

 private:
  std::unique_ptr<OwnSession> take(const std::string& id);

  mongoc_client_pool_t* pool_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<OwnSession>> open_;  ///< by the session in the bytes
};

}  // namespace leasehold::mongo
