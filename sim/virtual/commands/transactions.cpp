#include "sim/virtual/commands/transactions.hpp"

namespace leasehold::sim::simulated {
namespace {

constexpr int kDuplicateKey = 11000, kWriteConflict = 112, kNoSuchTransaction = 251;
// The default of transactionLifetimeLimitSeconds.
constexpr std::int64_t kLifetime_ms = 60'000;

/// The session alone: the one client that has transactions begins a session for each of them, so
/// their numbers within it tell nothing.
std::string session_of(const Object& command) {
  const Value* lsid = command.find("lsid"_key);
  const auto* session = lsid == nullptr ? nullptr : lsid->as<Object>();
  const Value* id = session == nullptr ? nullptr : session->find("id"_key);
  if (id == nullptr || !id->is<Binary>()) throw Unsupported("a transaction without lsid");
  return id->as<Binary>()->bytes;
}

Executed done() {
  Executed out;
  out.reply.set("ok"_key, 1.0);
  return out;
}

/// ok: 1 even if nothing was inserted: the statement failed, not the command.
Executed inserted(std::int32_t n) {
  Executed out = done();
  out.reply.set("n"_key, n);
  return out;
}

/// As mongod says it here: ok: 1, and a write error.
Executed duplicate_key() {
  Array errors;
  add_write_error(errors, 0, kDuplicateKey, "duplicate key: resourceId");
  Object keys, error = *errors.items[0].as<Object>();
  keys.set("resourceId"_key, std::int32_t{1});
  error.set("keyPattern"_key, keys);
  errors.items[0] = error;
  Executed out = inserted(0);
  out.reply.set("writeErrors"_key, errors);
  return out;
}

}  // namespace

bool in_transaction(const Object& command) { return command.find("autocommit"_key) != nullptr; }

Executed Transactions::execute(const Object& command, const Collection& collection,
                               const Start& start) {
  // mongod has a thread for it. No client sees a transaction between two commands, so it is soon
  // enough to look when the next one comes.
  std::erase_if(open_, [&](const auto& entry) {
    return start.now.ms - entry.second.began.ms > kLifetime_ms;
  });
  const std::string& name = command.fields.at(0).first;
  try {
    if (name == "insert") return insert(command, collection, start);
    if (name == "commitTransaction") return commit(command);
    if (name == "abortTransaction") return abort(command);
  } catch (const ServerError& error) {
    // Also where the commit found none: then there is nothing to take out.
    open_.erase(session_of(command));
    Executed out;
    out.reply = error_reply(error.code, error.what());
    // Before it says so, the server writes a note, for writers that wait for a majority.
    if (error.code == kNoSuchTransaction) out.changes.push_back(note_in_oplog());
    return out;
  }
  throw Unsupported("in a transaction: " + name);
}

Executed Transactions::insert(const Object& command, const Collection& collection,
                              const Start& start) {
  const auto* documents = command.find("documents"_key)->as<Array>();
  if (documents == nullptr || documents->items.size() != 1) throw Unsupported("several inserts");
  const auto document = std::make_shared<const Object>(*documents->items[0].as<Object>());
  const auto key = *document->find("resourceId"_key)->as<std::string>();
  // The insert is the first statement: a transaction with a failed insert was never begun, and its
  // commit finds none.
  if (collection.find(key)) return duplicate_key();
  for (const auto& [session, open] : open_) {
    // At once, without waiting for the other: inside a transaction mongod does not wait for a
    // document.
    if (open.change.id == key) throw ServerError(kWriteConflict, "WriteConflict");
  }
  open_[session_of(command)] = {{key, document}, start.now};
  return inserted(1);
}

Executed Transactions::commit(const Object& command) {
  const auto session = session_of(command);
  Executed out = done();
  // A client that got no answer commits again. That writes nothing, but waits for the majority
  // that the first one waited for, so its answer is worth as much.
  if (!committed_.contains(session)) out.changes.push_back(take(session));
  committed_.insert(session);
  const Value* concern = command.find("writeConcern"_key);
  out.for_majority = true;
  out.wtimeout_ms = concern->as<Object>()->find("wtimeout"_key)->integer();
  return out;
}

/// It is an error if the transaction is gone already, as with a commit.
Executed Transactions::abort(const Object& command) {
  (void)take(session_of(command));
  return done();
}

/// It is open no more from here on, committed or not.
Change Transactions::take(const std::string& session) {
  auto found = open_.extract(session);
  if (found.empty()) throw ServerError(kNoSuchTransaction, "NoSuchTransaction");
  return std::move(found.mapped().change);
}

}  // namespace leasehold::sim::simulated
