#include <algorithm>

#include "published/commands.hpp"

namespace leasehold::published {
namespace {

using mongo::Bson;

constexpr std::string_view kCollection = "dummies";

/// Not the server's clock: DateTime.UtcNow.
std::string acquire(const Call& call, core::WallInstant wall, const Hardening&) {
  Bson d;
  d.text("findAndModify", kCollection);
  d.doc("query", [&](Bson& q) {
    q.text("_id", call.name);
    q.array("$or", [&](Bson& either) {
      either.doc("0", [](Bson& free) { free.null("LockId"); });
      either.doc("1", [&](Bson& old) {
        old.doc("LockTime", [&](Bson& than) {
          than.date("$lt", wall.since_1970_ms - call.options.expiry.count());
        });
      });
    });
  });
  d.doc("update", [&](Bson& u) {
    u.doc("$set", [&](Bson& set) {
      set.text("LockId", to_hex(call.owner)).date("LockTime", wall.since_1970_ms);
    });
    u.doc("$setOnInsert", [&](Bson& set) { set.text("Value", call.value); });
  });
  d.flag("upsert", true).flag("new", true);
  append_limits(d, call.options);
  return std::string(d.bytes());
}

/// Writes the new value and frees it in one update.
std::string release(const Call& call, const Hardening&) {
  return update_one(
      kCollection, call.options,
      [&](Bson& q) { q.text("_id", call.name).text("LockId", to_hex(call.owner)); },
      [&](Bson& one) {
        one.doc("u", [&](Bson& u) {
          u.doc("$set",
                [&](Bson& set) { set.text("Value", call.value).null("LockId").null("LockTime"); });
        });
      });
}

}  // namespace

/// "document-level": the lock on the user's own entity {_id, Value, LockId, LockTime}, free
/// while LockId is null or LockTime is older than the limit. It does not wait; here a call tries
/// again until its time-out. The limit is `expiry`.
const Recipe& document_level() {
  static const Recipe recipe{
      .name = "document-level",
      .collection = kCollection,
      .fresh_owner_each_try = true,
      .tries = 0,
      .awaits_indexes = false,
      .extends = false,
      .has_tokens = false,
      .promises = {{"G1", "only a lock that is null or has expired is taken"},
                   {"G2", "a document that is locked is not given to a second caller"},
                   {"G6", "a release filters by id and lock id"},
                   {"G7", "a lock that has expired can be taken"},
                   {"G9", "one atomic operation locks, one releases"}},
      .usual_expiry = {},
      .usual_pause = std::chrono::milliseconds(100),
      .prepare = nullptr,
      .acquire = acquire,
      .won = core::RawCommand::Won::by_success,
      .acquire_on_admin = false,
      .extend = nullptr,
      .release = release,
      .indexes = [](const Call&) { return std::vector<std::string>(); }};
  return recipe;
}

}  // namespace leasehold::published
