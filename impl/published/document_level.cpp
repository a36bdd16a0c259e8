#include "published/recipe.hpp"

namespace leasehold::published {
namespace {

constexpr mongo::BsonTexts::Text kDocumentLevel[] = {
    {"@concern", R"({"w": "majority", "wtimeout": "@wtimeout"})"},
    // Not the server's clock: DateTime.UtcNow.
    {"@acquire", R"({
      "findAndModify": "dummies",
      "query": {"_id": "@name", "$or": [{"LockId": null}, {"LockTime": {"$lt": "@expiry ago"}}]},
      "update": {"$set": {"LockId": "@owner", "LockTime": "@now"},
                 "$setOnInsert": {"Value": "@value"}},
      "upsert": true, "new": true, "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    // Writes the new value and frees it in one update.
    {"@release", R"({
      "update": "dummies",
      "updates": [{"q": {"_id": "@name", "LockId": "@owner"},
                   "u": {"$set": {"Value": "@value", "LockId": null, "LockTime": null}}}],
      "ordered": false, "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
};

}  // namespace

/// "document-level": the lock on the user's own entity {_id, Value, LockId, LockTime}, free
/// while LockId is null or LockTime is older than the limit. It does not wait; here a call tries
/// again until its time-out. The limit is `expiry`.
const Recipe& document_level() {
  static const Recipe recipe{
      .name = "document-level",
      .collection = "dummies",
      .promises = {{"G1", "only a lock that is null or has expired is taken"},
                   {"G2", "a document that is locked is not given to a second caller"},
                   {"G6", "a release filters by id and lock id"},
                   {"G7", "a lock that has expired can be taken"},
                   {"G9", "one atomic operation locks, one releases"}},
      .usual_pause = std::chrono::milliseconds(100),
      .texts = {kDocumentLevel, mongo::BsonTexts::Numbers::as_written}};
  return recipe;
}

}  // namespace leasehold::published
