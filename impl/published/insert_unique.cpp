#include <algorithm>

#include "published/commands.hpp"

namespace leasehold::published {
namespace {

using mongo::Bson;

constexpr std::string_view kCollection = "locks";

/// A session of the driver, as its bytes: one for each attempt.
void append_session(Bson& d, const Call& call) {
  std::uint8_t id[16];
  for (int i = 0; i < 8; ++i) {
    id[i] = static_cast<std::uint8_t>(call.owner.high >> (8 * i));
    id[i + 8] = static_cast<std::uint8_t>(call.owner.low >> (8 * i));
  }
  d.doc("lsid", [&](Bson& lsid) { lsid.uuid("id", id); });
  d.int64("txnNumber", 1).flag("autocommit", false);
}

/// createdAt is `new Date()`: the client's clock; the TTL monitor compares it with the server's.
std::string prepare(const Call& call, core::WallInstant wall, const Hardening&) {
  Bson d;
  d.text("insert", kCollection);
  d.array("documents", [&](Bson& documents) {
    documents.doc("0", [&](Bson& lock) {
      lock.text("resourceId", call.name).date("createdAt", wall.since_1970_ms);
      lock.text("clientId", to_hex(call.owner));
    });
  });
  append_session(d, call);
  d.flag("startTransaction", true);
  return std::string(d.bytes());
}

std::string commit(const Call& call, core::WallInstant, const Hardening&) {
  Bson d;
  d.int32("commitTransaction", 1);
  append_session(d, call);
  append_limits(d, call.options);
  return std::string(d.bytes());
}

/// By resource alone: of any holder.
std::string release(const Call& call, const Hardening& hardening) {
  return delete_one(kCollection, call.options, [&](Bson& q) {
    q.text("resourceId", call.name);
    if (hardening.owner_check) q.text("clientId", to_hex(call.owner));
  });
}

std::vector<std::string> indexes(const Call& call) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(call.options.expiry).count();
  return {index_on(kCollection, "createdAt", "createdAt_1", seconds, false),
          index_on(kCollection, "resourceId", "resourceId_1", -1, true)};
}

}  // namespace

/// "insert-unique": insert in a transaction, unique index on resourceId, TTL on createdAt.
/// Chosen: the majority is waited for at the commit; `expiry` is its ttlSeconds, rounded up.
const Recipe& insert_unique() {
  static const Recipe recipe{
      .name = "insert-unique",
      .collection = kCollection,
      .fresh_owner_each_try = true,
      .tries = 10,
      .awaits_indexes = true,
      .extends = false,
      .has_tokens = false,
      .promises = {{"G1", "the unique index keeps the lock unique"},
                   {"G2", "only one service instance works at a time"},
                   {"G6", "deleting the document releases the lock that was taken"},
                   {"G7", "a crashed client's lock is cleaned up, no deadlock"},
                   {"G8", "the system cleans up expired locks"}},
      .usual_expiry = {},
      .usual_pause = std::chrono::milliseconds(100),
      .prepare = prepare,
      .acquire = commit,
      .won = core::RawCommand::Won::by_success,
      .acquire_on_admin = true,
      .extend = nullptr,
      .release = release,
      .indexes = indexes};
  return recipe;
}

}  // namespace leasehold::published
