#include "mongo/client/transactions.hpp"

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

bool in_transaction(const Bson& command) { return bson_has_field(command.get(), "autocommit"); }

std::unique_ptr<OwnSession> Transactions::take(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  auto found = open_.extract(id);
  return found.empty() ? nullptr : std::move(found.mapped());
}

bool Transactions::run(const std::string& database, const Bson& command, Underway& underway,
                       ReplyBson& reply, bson_error_t& error) {
  const auto id = session_of(command);
  auto open = take(id);
  if (bson_has_field(command.get(), "commitTransaction")) {
    if (open) return commit(*open, underway, reply, error);
    bson_set_error(&error, MONGOC_ERROR_TRANSACTION, 0, "the transaction was not begun");
    return false;
  }
  if (!open) {
    open = OwnSession::start(pool_, error);
    if (!open || !mongoc_client_session_start_transaction(open->session(), nullptr, &error)) {
      return false;
    }
  }
  bson_t plain = BSON_INITIALIZER;
  copy_plain(command, &plain);
  const bool done = open->run(database, &plain, underway, reply, error) &&
                    !bson_has_field(reply.get(), "writeErrors");  // ok: 1, and not inserted
  bson_destroy(&plain);
  if (!done) return false;
  const std::scoped_lock lock(mutex_);
  open_[id] = std::move(open);
  return true;
}

}  // namespace leasehold::mongo
