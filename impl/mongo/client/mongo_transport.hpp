#pragma once

#include <chrono>
#include <functional>
#include <leasehold/mongoc.hpp>
#include <leasehold/result.hpp>
#include <memory>
#include <string>

#include "core/transport.hpp"

namespace leasehold::mongo {

struct TransportOptions {
  std::string uri;
  std::shared_ptr<mongoc_client_pool_t> pool;  ///< the application's, instead of one for the URI
  std::string database;                        ///< empty: the URI's, or "leasehold"
  std::string collection;
  std::chrono::milliseconds server_selection_timeout;
  /// Gets the name of each command that the driver sends, handshakes left out; may be empty.
  std::function<void(const std::string&)> on_wire;
};

/// A transport over a pool of libmongoc clients. The driver's own retries are off, or a reply says
/// that it was one, because a retry would turn a token into another write's time. Contacts no
/// server until a command is executed.
Result<std::shared_ptr<core::Transport>> make_transport(TransportOptions options);

}  // namespace leasehold::mongo
