#include "mongo/own_session.hpp"

#include "mongo/client.hpp"

namespace leasehold::mongo {

OwnSession::OwnSession(mongoc_client_pool_t* pool) : pool_(pool) {}

std::unique_ptr<OwnSession> OwnSession::start(mongoc_client_pool_t* pool, bson_error_t& error) {
  std::unique_ptr<OwnSession> own(new OwnSession(pool));
  own->client_ = borrow(pool, own->sockets_, error);
  if (own->client_ == nullptr) return nullptr;
  own->session_.reset(mongoc_client_start_session(own->client_, nullptr, &error));
  return own->session_ ? std::move(own) : nullptr;
}

OwnSession::~OwnSession() {
  session_.reset();  // aborts what is still open
  give_back(pool_, client_);
}

bool OwnSession::run(const std::string& database, const bson_t* command, ReplyBson& reply,
                     bson_error_t& error) {
  bson_t options = BSON_INITIALIZER;
  const bool done = mongoc_client_session_append(session_.get(), &options, &error) &&
                    mongoc_client_command_with_opts(client_, database.c_str(), command, nullptr,
                                                    &options, reply.out(), &error);
  bson_destroy(&options);
  return done;
}

}  // namespace leasehold::mongo
