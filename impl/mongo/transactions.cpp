#include "mongo/transactions.hpp"

#include <functional>

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

}  // namespace

bool in_transaction(const Bson& command) { return bson_has_field(command.get(), "autocommit"); }

bool Transactions::run(const std::string& database, const Bson& command, ReplyBson& reply,
                       bson_error_t& error, const std::function<void(Sockets*)>& cut) {
  const auto id = session_of(command);
  std::unique_ptr<OwnSession> open;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.extract(id);
    if (!found.empty()) open = std::move(found.mapped());
  }
  const bool commits = bson_has_field(command.get(), "commitTransaction");
  if (!open && commits) {
    bson_set_error(&error, MONGOC_ERROR_TRANSACTION, 0, "the transaction was not begun");
    return false;
  }
  if (!open) {
    open = OwnSession::start(pool_, error);
    if (!open || !mongoc_client_session_start_transaction(open->session(), nullptr, &error)) {
      return false;
    }
  }
  cut(&open->sockets());
  bool done = false;
  if (commits) {
    done = mongoc_client_session_commit_transaction(open->session(), reply.out(), &error);
  } else {
    bson_t plain = BSON_INITIALIZER;
    copy_plain(command, &plain);
    done = open->run(database, &plain, reply, error);
    done = done && !bson_has_field(reply.get(), "writeErrors");  // ok: 1, and not inserted
    bson_destroy(&plain);
  }
  cut(nullptr);
  if (commits || !done) return done;
  const std::scoped_lock lock(mutex_);
  open_[id] = std::move(open);
  return true;
}

}  // namespace leasehold::mongo
