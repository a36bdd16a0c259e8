#include <algorithm>

#include "published/commands.hpp"

namespace leasehold::published {
namespace {

using mongo::Bson;

constexpr std::string_view kCollection = "distributed.locks";

/// {$lt: [{$ifNull: ["$expiresAt", epoch]}, "$$NOW"]}: missing counts as expired.
Bson expired() {
  Bson e;
  e.array("$lt", [](Bson& args) {
    args.doc("0", [](Bson& or_epoch) {
      or_epoch.array("$ifNull", [](Bson& both) { both.text("0", "$expiresAt").date("1", 0); });
    });
    args.text("1", "$$NOW");
  });
  return e;
}

Bson from_now(const Call& call) {
  Bson e;
  e.array("$add",
          [&](Bson& sum) { sum.text("0", "$$NOW").int64("1", call.options.expiry.count()); });
  return e;
}

/// Each field says the condition again, as the package does.
template <typename Then>
void set_if_expired(Bson& set, std::string_view field, const Bson& condition, Then then) {
  set.doc(field, [&](Bson& value) {
    value.array("$cond", [&](Bson& c) {
      c.copy("0", condition);
      then(c, "1");
      c.text("2", '$' + std::string(field));
    });
  });
}

/// One more than the stored one, which is 0 where there is none.
Bson next_token() {
  Bson e;
  e.array("$add", [](Bson& sum) {
    sum.doc("0", [](Bson& or_zero) {
      or_zero.array("$ifNull", [](Bson& both) { both.text("0", "$fencingToken").int64("1", 0); });
    });
    sum.int64("1", 1);
  });
  return e;
}

std::string acquire(const Call& call, core::WallInstant, const Hardening&) {
  const Bson condition = expired();
  const Bson token = next_token();
  const Bson until = from_now(call);
  Bson d;
  d.text("findAndModify", kCollection);
  d.doc("query", [&](Bson& q) { q.text("_id", call.name); });
  d.array("update", [&](Bson& pipeline) {
    pipeline.doc("0", [&](Bson& stage) {
      stage.doc("$set", [&](Bson& set) {
        const auto text = [&](std::string_view value) {
          return [value = std::string(value)](Bson& c, std::string_view k) { c.text(k, value); };
        };
        set_if_expired(set, "lockId", condition, text(to_hex(call.owner)));
        set_if_expired(set, "expiresAt", condition,
                       [&](Bson& c, std::string_view k) { c.copy(k, until); });
        set_if_expired(set, "acquiredAt", condition, text("$$NOW"));
        set_if_expired(set, "fencingToken", condition,
                       [&](Bson& c, std::string_view k) { c.copy(k, token); });
      });
    });
  });
  d.flag("upsert", true).flag("new", true);
  append_limits(d, call.options);
  return std::string(d.bytes());
}

std::string extend(const Call& call) {
  const Bson until = from_now(call);
  return update_one(
      kCollection, call.options,
      [&](Bson& q) { q.text("_id", call.name).text("lockId", to_hex(call.owner)); },
      [&](Bson& one) {
        one.array("u", [&](Bson& pipeline) {
          pipeline.doc("0", [&](Bson& stage) {
            stage.doc("$set", [&](Bson& set) { set.copy("expiresAt", until); });
          });
        });
      });
}

std::string release(const Call& call, const Hardening&) {
  return delete_one(kCollection, call.options,
                    [&](Bson& q) { q.text("_id", call.name).text("lockId", to_hex(call.owner)); });
}

}  // namespace

/// "distributed-lock": the commands as its .NET package writes them.
/// Chosen where it is silent: an error of the server ends the acquire; an extension that fails is
/// tried at the next cadence, until a lease has passed since the last answer that it had.
const Recipe& distributed_lock() {
  static const Recipe recipe{
      .name = "distributed-lock",
      .collection = kCollection,
      .fresh_owner_each_try = true,
      .tries = 0,
      .awaits_indexes = false,
      .extends = true,
      .has_tokens = true,
      .promises = {{"G1", "a lock held by another process is left unchanged"},
                   {"G2", "no two processes hold the lock at once, by their own account"},
                   {"G3", "operations with the token of a lost lock are rejected"},
                   {"G4", "the token is incremented and gives an order"},
                   {"G5", "HandleLostToken is signaled when an extension fails"},
                   {"G6", "disposing the handle deletes the lock document"},
                   {"G7", "a crashed process's lock is available after its expiry"},
                   {"G8", "stale lock documents are cleaned up by the database"},
                   {"G9", "an acquisition is one operation"}},
      .usual_expiry = {},
      .usual_pause = {},
      .prepare = nullptr,
      .acquire = acquire,
      .won = core::RawCommand::Won::by_owner_in_value,
      .acquire_on_admin = false,
      .extend = extend,
      .release = release,
      .indexes = [](const Call&) -> std::vector<std::string> {
        return {index_on(kCollection, "expiresAt", "expiresAt_ttl", 0, false)};
      }};
  return recipe;
}

}  // namespace leasehold::published
