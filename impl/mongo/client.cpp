#include "mongo/client.hpp"

namespace leasehold::mongo {

mongoc_client_t* borrow(mongoc_client_pool_t* pool, Sockets& sockets, bson_error_t& error) {
  mongoc_client_t* client = mongoc_client_pool_try_pop(pool);
  if (client == nullptr) {
    bson_set_error(&error, MONGOC_ERROR_SERVER_SELECTION, 0,
                   "the driver's pool has no client left: its maxPoolSize is too small");
    return nullptr;
  }
  sockets.watch(client);
  return client;
}

void give_back(mongoc_client_pool_t* pool, mongoc_client_t* client) {
  if (client == nullptr) return;
  mongoc_client_set_stream_initiator(client, nullptr, nullptr);
  mongoc_client_pool_push(pool, client);
}

core::Reply driver_failure(const bson_error_t& error) {
  core::Reply reply;
  reply.code = static_cast<int>(error.code);
  reply.message = error.message;
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION) {
    // No member has a certificate that we may trust: another try would find the same.
    const bool untrusted = reply.message.find("certificate verify failed") != std::string::npos;
    reply.outcome = untrusted ? core::Outcome::configuration : core::Outcome::failed_before;
  } else if (error.domain == MONGOC_ERROR_STREAM) {
    const bool connecting = error.code == MONGOC_ERROR_STREAM_CONNECT ||
                            error.code == MONGOC_ERROR_STREAM_NAME_RESOLUTION;
    reply.outcome = connecting ? core::Outcome::failed_before : core::Outcome::unknown;
  } else if ((error.domain == MONGOC_ERROR_CLIENT &&
              error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE) ||
             error.domain == MONGOC_ERROR_SASL || error.domain == MONGOC_ERROR_SCRAM) {
    reply.outcome = core::Outcome::configuration;
    reply.message = "authentication failed: " + reply.message;
  } else if (error.domain == MONGOC_ERROR_BSON ||
             (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_TOO_BIG)) {
    reply.outcome = core::Outcome::configuration;
  }
  return reply;
}

}  // namespace leasehold::mongo
