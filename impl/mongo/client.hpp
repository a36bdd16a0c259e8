#pragma once

#include <mongoc/mongoc.h>

#include "core/protocol.hpp"
#include "mongo/sockets.hpp"

/// The driver's clients, and what it says when there is no reply.
namespace leasehold::mongo {

/// A client of the pool whose sockets are known from now on. Null when the pool has none left:
/// `error` says so. REQUIRES: `sockets` outlives its use.
[[nodiscard]] mongoc_client_t* borrow(mongoc_client_pool_t* pool, Sockets& sockets,
                                      bson_error_t& error);

/// Null is fine.
void give_back(mongoc_client_pool_t* pool, mongoc_client_t* client);

/// What became of a command that the driver has no reply to.
[[nodiscard]] core::Reply driver_failure(const bson_error_t& error);

}  // namespace leasehold::mongo
