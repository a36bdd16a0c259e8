#include "mongo/commands.hpp"

#include <algorithm>
#include <vector>

#include "core/document/lock_readers.hpp"
#include "mongo/bson_texts.hpp"

namespace leasehold::mongo {
namespace {

using std::chrono::milliseconds;

constexpr BsonTexts::Text kCommands[] = {
    {"@concern", R"({"w": "majority", "wtimeout": "@wtimeout"})"},

    {"@acquire", R"({
      "findAndModify": "@collection", "query": {"_id": "@name"}, "update": ["@stage"],
      "upsert": true, "new": true, "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@hand over", R"({
      "findAndModify": "@collection", "query": {"_id": "@name", "lockId": "@owner"},
      "update": ["@stage"], "new": true, "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    // It matches by name alone: the owner may hold the lock, or wait, or neither.
    {"@pass on", R"({
      "findAndModify": "@collection", "query": {"_id": "@name"}, "update": ["@stage"],
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@extension", R"({
      "q": {"_id": "@name", "lockId": "@owner", "acquiredAt": "@acquired at"}, "u": ["@stage"]})"},
    {"@extension of reader", R"({
      "q": {"_id": "@name", "$or": [
        {"lockId": "@among readers"}, {"lockId": "@alone", "acquiredAt": "@acquired at"}]},
      "u": ["@stage"]})"},
    {"@extend", R"({
      "update": "@collection", "updates": "@extensions", "ordered": false,
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},
    {"@delete", R"({
      "delete": "@collection", "deletes": [{"q": {"_id": "@name", "lockId": "@owner"}, "limit": 1}],
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},

    {"@read holders", R"({
      "find": "@collection", "filter": {"_id": {"$in": "@names"}},
      "projection": {"lockId": 1, "acquiredAt": 1, "expiresAt": 1},
      "batchSize": 100000, "singleBatch": true, "maxTimeMS": "@limit"})"},
    // Linearizable: a primary that was cut off answers nothing rather than what is long over.
    {"@inspect", R"({
      "find": "@collection", "filter": {"_id": "@name"},
      "projection": {
        "lockId": 1, "acquiredAt": 1, "expiresAt": 1, "fencingToken": 1, "now": "$$NOW"},
      "limit": 1, "singleBatch": true, "readConcern": {"level": "linearizable"},
      "maxTimeMS": "@limit"})"},

    {"@index", R"({
      "createIndexes": "@collection",
      "indexes": [{"key": {"expiresAt": 1}, "name": "expiresAt_ttl", "expireAfterSeconds": 0}],
      "writeConcern": "@concern", "maxTimeMS": "@limit"})"},

    // A write by which an owner of this provider gets the lock changes the token's lower bound too;
    // one that only changes the queue behind its lockId does not, and is not reported.
    {"@since", R"({"startAtOperationTime": "@place"})"},
    {"@open", R"({
      "aggregate": "@collection",
      "pipeline": [
        {"$changeStream": "@from"},
        {"$match": {"$or": [
          {"operationType": "replace", "fullDocument.lockId": "@ours"},
          {"updateDescription.updatedFields.lockId": "@ours",
           "updateDescription.updatedFields.fencingToken": {"$exists": true}}]}},
        {"$project": {"documentKey": 1, "clusterTime": 1, "fullDocument": 1,
                      "updateDescription.updatedFields": 1}}],
      "cursor": {}, "maxTimeMS": "@limit"})"},
    {"@next", R"({"getMore": "@cursor", "collection": "@collection", "maxTimeMS": "@wait"})"},
    {"@close", R"({"killCursors": "@collection", "cursors": ["@cursor"]})"},
};

const BsonTexts& commands() {
  static const BsonTexts all(kCommands, BsonTexts::Numbers::as_written);
  return all;
}

/// What a query by owner asks of `lockId`. `rest`: a pattern for what follows the owner.
std::string pattern_of(core::Owner one, const std::optional<core::Owner>& other = std::nullopt,
                       std::string_view rest = "") {
  const auto owner = other ? '(' + to_hex(one) + '|' + to_hex(*other) + ')' : to_hex(one);
  return ('^' + owner + "\\.").append(rest);
}

/// What may stand before a part of a reader's entry, in a pattern.
const std::string kAmongReaders = R"(0{32}\.[^~]*\.)";

/// Fills a text with what all of them have and with these.
struct Builder {
  Bson filled(std::string_view text, std::initializer_list<Hole> own) const {
    const auto limits = limits_of(timeout);
    std::vector<Hole> holes{{"@collection", collection},
                            {"@wtimeout", Int32{limits.wtimeout_ms}},
                            {"@limit", Int32{limits.max_time_ms}}};
    holes.insert(holes.end(), own);
    return commands().filled(text, holes);
  }

  Bson operator()(const core::AcquireCommand& command) const {
    const Bson stage = stage_of(command);
    return filled("@acquire", {{"@name", command.name}, {"@stage", &stage}});
  }
  Bson operator()(const core::ExtendCommand& command) const {
    Bson all;
    for (std::size_t i = 0; i < command.statements.size(); ++i) {
      const auto& one = command.statements[i];
      const Bson stage = stage_of(one);
      const auto owner = pattern_of(one.owner),
                 alone = pattern_of(one.owner, std::nullopt, core::mark_of(one.room)),
                 since = core::since_text(one.acquired_at, one.room, one.slot),
                 among = '^' + kAmongReaders + since + "\\." + owner.substr(1);
      all.copy(std::to_string(i),
               commands().filled(one.room != 0 ? "@extension of reader" : "@extension",
                                {{"@name", one.name},
                                 {"@owner", Regex{owner.c_str()}},
                                 {"@among readers", Regex{among.c_str()}},
                                 {"@alone", Regex{alone.c_str()}},
                                 {"@acquired at", Date{one.acquired_at.since_1970_ms}},
                                 {"@stage", &stage}}));
    }
    return filled("@extend", {{"@extensions", Elements{&all}}});
  }
  Bson operator()(const core::ReadHoldersCommand& command) const {
    Bson names;
    for (std::size_t i = 0; i < command.names.size(); ++i) {
      names.text(std::to_string(i), command.names[i]);
    }
    return filled("@read holders", {{"@names", Elements{&names}}});
  }
  Bson operator()(const core::InspectCommand& command) const {
    return filled("@inspect", {{"@name", command.name}});
  }
  Bson operator()(const core::DeleteCommand& command) const {
    const char* const rest = command.unless_queued ? "[^~]*$" : "";
    const auto owner = pattern_of(command.owner, command.or_owner, rest);
    return filled("@delete", {{"@name", command.name}, {"@owner", Regex{owner.c_str()}}});
  }
  Bson operator()(const core::HandOverCommand& command) const {
    const Bson stage = stage_of(command);
    const auto owners = pattern_of(command.from, command.owner);
    return filled("@hand over", {{"@name", command.name},
                                 {"@owner", Regex{owners.c_str()}},
                                 {"@stage", &stage}});
  }
  Bson operator()(const core::PassOnCommand& command) const {
    const Bson stage = stage_of(command);
    return filled("@pass on", {{"@name", command.name}, {"@stage", &stage}});
  }
  Bson operator()(const core::EnsureIndexCommand&) const { return filled("@index", {}); }
  Bson operator()(const core::StreamCommand& command) const {
    using Step = core::StreamCommand::Step;
    if (command.step == Step::next || command.step == Step::look) {
      const auto longest = command.step == Step::next ? timeout.count() / 2 : 0;
      const auto wait = std::max<std::int64_t>(longest, 1);
      return filled("@next", {{"@cursor", command.cursor}, {"@wait", Int32{wait}}});
    }
    if (command.step == Step::close) return filled("@close", {{"@cursor", command.cursor}});
    const auto ours = "^(" + kAmongReaders + ")?" +
                      to_hex(core::Owner{command.provider, 0}).substr(0, 16);
    const Bson from =
        command.since ? commands().filled("@since", {{"@place", command.since}}) : Bson();
    return filled("@open", {{"@ours", Regex{ours.c_str()}}, {"@from", &from}});
  }
  /// Built by its protocol.
  Bson operator()(const core::RawCommand& command) const { return Bson::of(command.bson); }

  const std::string& collection;
  const milliseconds timeout;
};

}  // namespace

Bson build(const core::Command& command, const std::string& collection) {
  return std::visit(Builder{collection, command.timeout}, command.body);
}

}  // namespace leasehold::mongo
