#include "mongo/client/own_session.hpp"

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

bool OwnSession::run(const std::string& database, const bson_t* command, Underway& underway,
                     ReplyBson& reply, bson_error_t& error) {
  return run_on_primary(client_, sockets_, underway, session_.get(), database, command, reply,
                        error);
}

}  // namespace leasehold::mongo
