#include "published/recipe.hpp"

namespace leasehold::published {
namespace {

constexpr mongo::BsonTexts::Text kInsertUnique[] = {
    {"@concern", R"({"w": "majority", "wtimeout": "@wtimeout"})"},
    // createdAt is `new Date()`: the client's clock; the TTL monitor compares it with the server's.
    {"@prepare", R"({
      "insert": "locks",
      "documents": [{"resourceId": "@name", "createdAt": "@now", "clientId": "@owner"}],
      "lsid": {"id": "@session"}, "txnNumber": {"$numberLong": "1"}, "autocommit": false,
      "startTransaction": true})"},
    {"@acquire", R"({
      "commitTransaction": 1,
      "lsid": {"id": "@session"}, "txnNumber": {"$numberLong": "1"}, "autocommit": false,
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    // By resource alone: of any holder.
    {"@release", R"({
      "delete": "locks",
      "deletes": [{"q": {"resourceId": "@name", "clientId": "@owner if checked"}, "limit": 1}],
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@index of ages", R"({
      "createIndexes": "locks",
      "indexes": [{"key": {"createdAt": 1}, "name": "createdAt_1",
                   "expireAfterSeconds": "@expiry in seconds"}],
      "writeConcern": {"w": "majority", "wtimeout": 8000}, "maxTimeMS": 9000})"},
    {"@index of resources", R"({
      "createIndexes": "locks",
      "indexes": [{"key": {"resourceId": 1}, "name": "resourceId_1", "unique": true}],
      "writeConcern": {"w": "majority", "wtimeout": 8000}, "maxTimeMS": 9000})"},
};

}  // namespace

/// "insert-unique": insert in a transaction, unique index on resourceId, TTL on createdAt.
/// Chosen: the majority is waited for at the commit; `expiry` is its ttlSeconds, rounded up.
const Recipe& insert_unique() {
  static const Recipe recipe{
      .name = "insert-unique",
      .collection = "locks",
      .tries = 10,
      .awaits_indexes = true,
      .promises = {{"G1", "the unique index keeps the lock unique"},
                   {"G2", "only one service instance works at a time"},
                   {"G6", "deleting the document releases the lock that was taken"},
                   {"G7", "a crashed client's lock is cleaned up, no deadlock"},
                   {"G8", "the system cleans up expired locks"}},
      .usual_pause = std::chrono::milliseconds(100),
      .in_transaction = true,
      .indexes = {"@index of ages", "@index of resources"},
      .texts = {kInsertUnique, mongo::BsonTexts::Numbers::as_written}};
  return recipe;
}

}  // namespace leasehold::published
