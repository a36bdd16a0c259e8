#include "published/recipe.hpp"

namespace leasehold::published {
namespace {

constexpr mongo::BsonTexts::Text kSetOnInsert[] = {
    {"@concern", R"({"w": "majority", "wtimeout": "@wtimeout"})"},
    // ExpireAt is the client's clock plus a minute.
    {"@acquire", R"({
      "findAndModify": "locks", "query": {"_id": "@name"},
      "update": {
        "$setOnInsert": {"ExpireAt": "@expiry from now", "Owner": "@owner if checked"}},
      "upsert": true, "new": false, "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@release", R"({
      "delete": "locks",
      "deletes": [{"q": {"_id": "@name", "Owner": "@owner if checked"}, "limit": 1}],
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@index", R"({
      "createIndexes": "locks",
      "indexes": [{"key": {"ExpireAt": 1}, "name": "ExpireAt_1", "expireAfterSeconds": 0}],
      "writeConcern": {"w": "majority", "wtimeout": 8000}, "maxTimeMS": 9000})"},
};

}  // namespace

/// "set-on-insert": an upsert of only $setOnInsert; the document before decides. Its author shows
/// no code: names of fields are those of the prose. `expiry` is its one minute.
const Recipe& set_on_insert() {
  static const Recipe recipe{
      .name = "set-on-insert",
      .collection = "locks",
      .awaits_indexes = true,
      .promises = {{"G1", "an existing lock record is returned and not touched"},
                   {"G2", "no two tasks get past step 1 for one resource"},
                   {"G6", "disposing of the lock deletes the lock document"},
                   {"G7", "a lock not released in time is freed for another thread"},
                   {"G8", "expired lock documents are deleted automatically"},
                   {"G9", "one FindOneAndUpdate acquires"}},
      .usual_expiry = std::chrono::minutes(1),
      .usual_pause = std::chrono::milliseconds(100),
      .won = core::RawCommand::Won::by_null_before,
      .indexes = {"@index"},
      .texts = {kSetOnInsert, mongo::BsonTexts::Numbers::as_written}};
  return recipe;
}

}  // namespace leasehold::published
