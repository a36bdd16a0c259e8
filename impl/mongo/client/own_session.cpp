#include "mongo/client/own_session.hpp"

#include <algorithm>

namespace leasehold::mongo {
namespace {

std::string session_of(const Bson& command) {
  bson_iter_t at, id;
  if (!bson_iter_init(&at, command.get()) || !bson_iter_find_descendant(&at, "lsid.id", &id)) {
    return {};
  }
  std::uint32_t length = 0;
  const std::uint8_t* bytes = nullptr;
  bson_subtype_t subtype{};
  bson_iter_binary(&id, &subtype, &length, &bytes);
  return std::string(reinterpret_cast<const char*>(bytes), length);
}

/// Without what the driver adds itself.
void copy_plain(const Bson& command, bson_t* to) {
  bson_copy_to_excluding_noinit(command.get(), to, "lsid", "txnNumber", "autocommit",
                                "startTransaction", nullptr);
}

/// The driver picks the member of a commit itself, so every socket of this client may be its.
bool commit(OwnSession& open, Underway& underway, ReplyBson& reply, bson_error_t& error) {
  const DescriptionHandle primary(
      mongoc_client_select_server(open.client(), true, nullptr, &error));
  if (!primary || !underway.connect(open.sockets(), "", error)) return false;
  const bool done =
      underway.begin(error) &&
      mongoc_client_session_commit_transaction(open.session(), reply.out(), &error);
  underway.end();
  return done;
}

}  // namespace

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

std::unique_ptr<OwnSession> OwnSessions::take(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(all_, [&](const auto& one) { return one.first == key; });
  if (found == all_.end()) return nullptr;
  auto session = std::move(found->second);
  all_.erase(found);
  return session;
}

void OwnSessions::put(std::string key, std::unique_ptr<OwnSession> session) {
  std::unique_ptr<OwnSession> forgotten;  // destroyed after the lock: it may talk to a server
  const std::lock_guard lock(mutex_);
  all_.emplace_back(std::move(key), std::move(session));
  if (all_.size() <= most_) return;
  forgotten = std::move(all_.front().second);
  all_.erase(all_.begin());
}

bool in_transaction(const Bson& command) { return bson_has_field(command.get(), "autocommit"); }

bool run_in_transaction(mongoc_client_pool_t* pool, OwnSessions& open, const std::string& database,
                        const Bson& command, Underway& underway, ReplyBson& reply,
                        bson_error_t& error) {
  const auto id = session_of(command);
  auto own = open.take(id);
  if (bson_has_field(command.get(), "commitTransaction")) {
    if (own) return commit(*own, underway, reply, error);
    bson_set_error(&error, MONGOC_ERROR_TRANSACTION, 0, "the transaction was not begun");
    return false;
  }
  if (!own) {
    own = OwnSession::start(pool, error);
    if (!own || !mongoc_client_session_start_transaction(own->session(), nullptr, &error)) {
      return false;
    }
  }
  bson_t plain = BSON_INITIALIZER;
  copy_plain(command, &plain);
  const bool done = own->run(database, &plain, underway, reply, error) &&
                    !bson_has_field(reply.get(), "writeErrors");  // ok: 1, and not inserted
  bson_destroy(&plain);
  if (done) open.put(id, std::move(own));
  return done;
}

}  // namespace leasehold::mongo
