#include "published/recipe.hpp"

namespace leasehold::published {
namespace {

constexpr mongo::BsonTexts::Text kDistributedLock[] = {
    {"@concern", R"({"w": "majority", "wtimeout": "@wtimeout"})"},
    // Missing counts as expired. Each field says the condition again, as the package does.
    {"@expired", R"({"$lt": [
      {"$ifNull": ["$expiresAt", {"$date": {"$numberLong": "0"}}]}, "$$NOW"]})"},
    {"@until", R"({"$add": ["$$NOW", "@expiry"]})"},
    {"@acquire", R"({
      "findAndModify": "distributed.locks", "query": {"_id": "@name"},
      "update": [{"$set": {
        "lockId": {"$cond": ["@expired", "@owner", "$lockId"]},
        "expiresAt": {"$cond": ["@expired", "@until", "$expiresAt"]},
        "acquiredAt": {"$cond": ["@expired", "$$NOW", "$acquiredAt"]},
        "fencingToken": {"$cond": [
          "@expired",
          {"$add": [{"$ifNull": ["$fencingToken", {"$numberLong": "0"}]}, {"$numberLong": "1"}]},
          "$fencingToken"]}}}],
      "upsert": true, "new": true, "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@extend", R"({
      "update": "distributed.locks",
      "updates": [{"q": {"_id": "@name", "lockId": "@owner"},
                   "u": [{"$set": {"expiresAt": "@until"}}]}],
      "ordered": false, "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@release", R"({
      "delete": "distributed.locks",
      "deletes": [{"q": {"_id": "@name", "lockId": "@owner"}, "limit": 1}],
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@index", R"({
      "createIndexes": "distributed.locks",
      "indexes": [{"key": {"expiresAt": 1}, "name": "expiresAt_ttl", "expireAfterSeconds": 0}],
      "writeConcern": {"w": "majority", "wtimeout": 8000}, "maxTimeMS": 9000})"},
};

}  // namespace

/// "distributed-lock": the commands as its .NET package writes them.
/// Chosen where it is silent: an error of the server ends the acquire; an extension that fails is
/// tried at the next cadence, until a lease has passed since the last answer that it had.
const Recipe& distributed_lock() {
  static const Recipe recipe{
      .name = "distributed-lock",
      .collection = "distributed.locks",
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
      .won = core::RawCommand::Won::by_owner_in_value,
      .indexes = {"@index"},
      .texts = {kDistributedLock, mongo::BsonTexts::Numbers::as_written}};
  return recipe;
}

}  // namespace leasehold::published
