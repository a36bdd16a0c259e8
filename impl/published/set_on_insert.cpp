#include <algorithm>

#include "published/commands.hpp"

namespace leasehold::published {
namespace {

using mongo::Bson;

constexpr std::string_view kCollection = "locks";

/// ExpireAt is the client's clock plus a minute.
std::string acquire(const Call& call, core::WallInstant wall, const Hardening& hardening) {
  Bson d;
  d.text("findAndModify", kCollection);
  d.doc("query", [&](Bson& q) { q.text("_id", call.name); });
  d.doc("update", [&](Bson& u) {
    u.doc("$setOnInsert", [&](Bson& set) {
      set.date("ExpireAt", wall.since_1970_ms + call.options.expiry.count());
      if (hardening.owner_check) set.text("Owner", to_hex(call.owner));
    });
  });
  d.flag("upsert", true).flag("new", false);
  append_limits(d, call.options);
  return std::string(d.bytes());
}

std::string release(const Call& call, const Hardening& hardening) {
  return delete_one(kCollection, call.options, [&](Bson& q) {
    q.text("_id", call.name);
    if (hardening.owner_check) q.text("Owner", to_hex(call.owner));
  });
}

}  // namespace

/// "set-on-insert": an upsert of only $setOnInsert; the document before decides. Its author shows
/// no code: names of fields are those of the prose. `expiry` is its one minute.
const Recipe& set_on_insert() {
  static const Recipe recipe{
      .name = "set-on-insert",
      .collection = kCollection,
      .fresh_owner_each_try = true,
      .tries = 0,
      .awaits_indexes = true,
      .extends = false,
      .has_tokens = false,
      .promises = {{"G1", "an existing lock record is returned and not touched"},
                   {"G2", "no two tasks get past step 1 for one resource"},
                   {"G6", "disposing of the lock deletes the lock document"},
                   {"G7", "a lock not released in time is freed for another thread"},
                   {"G8", "expired lock documents are deleted automatically"},
                   {"G9", "one FindOneAndUpdate acquires"}},
      .usual_expiry = std::chrono::minutes(1),
      .usual_pause = std::chrono::milliseconds(100),
      .prepare = nullptr,
      .acquire = acquire,
      .won = core::RawCommand::Won::by_null_before,
      .acquire_on_admin = false,
      .extend = nullptr,
      .release = release,
      .indexes = [](const Call&) -> std::vector<std::string> {
        return {index_on(kCollection, "ExpireAt", "ExpireAt_1", 0, false)};
      }};
  return recipe;
}

}  // namespace leasehold::published
