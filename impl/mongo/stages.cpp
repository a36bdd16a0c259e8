#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "core/limits.hpp"
#include "mongo/bson_texts.hpp"
#include "mongo/commands.hpp"

namespace leasehold::mongo {
namespace {

using std::chrono::milliseconds;

static_assert(core::kQueueMark == '~' && core::kTicketsMark == "+." && core::kReaderMark == '|');

constexpr BsonTexts::Text kStages[] = {
    {"@owner's", R"({"$eq": [{"$indexOfBytes": ["$lockId", {"$literal": "@owner."}]}, 0]})"},
    {"@other's", R"({"$eq": [{"$indexOfBytes": ["$lockId", {"$literal": "@other."}]}, 0]})"},

    // A token below the one that this write will have, and above the stored one; always a change.
    // An odd fencingToken is healed: it counts as 0.
    {"@token", R"({"$max": [
      {"$add": [
        {"$let": {
          "vars": {"t": {"$convert": {
            "input": "$fencingToken", "to": "long", "onError": 0, "onNull": 0}}},
          "in": {"$cond": [
            {"$and": [{"$gte": ["$$t", 0]}, {"$lt": ["$$t", 9223372036854775807]}]}, "$$t", 0]}}},
        1]},
      {"$add": [
        {"$multiply": [{"$subtract": [{"$tsSecond": "$$CLUSTER_TIME"}, "@epoch"]}, 4294967296]},
        {"$tsIncrement": "$$CLUSTER_TIME"}]}]})"},

    // [holder, entry, entry, ...]; [""] of a document that is not there.
    {"@parts", R"({"$split": [{"$ifNull": ["$lockId", ""]}, "~"]})"},
    {"@holder", R"({"$arrayElemAt": ["@parts", 0]})"},
    {"@last", R"({"$arrayElemAt": ["@parts", -1]})"},
    {"@last is tickets", R"({"$eq": [{"$indexOfBytes": ["$$last", "+."]}, 0]})"},
    // The tickets as they are, behind a mark.
    {"@same tickets", R"({"$let": {"vars": {"last": "@last"}, "in":
      {"$cond": ["@last is tickets", {"$concat": ["~", "$$last"]}, ""]}}})"},

    // The entry $$e. Servers compare `until`, its first digits, as text.
    {"@alive", R"({"$and": [
      {"$gt": ["$$e", {"$toString": {"$toLong": {"$add": ["$$NOW", 0]}}}]},
      {"$lt": ["$$e", {"$toString": {"$toLong": {"$add": ["$$NOW", "@longest entry"]}}}]}]})"},
    {"@own at", R"({"$indexOfBytes": ["$$e", {"$literal": "@owner."}]})"},
    {"@other at", R"({"$indexOfBytes": ["$$e", {"$literal": "@other."}]})"},
    {"@entries", R"({"$slice": ["@parts", 1, "@most in queue"]})"},
    {"@append", R"({"$concat": ["$$value", "~", "$$this"]})"},

    // The lock, taken. A retry of the same owner keeps `acquiredAt` and never lowers `expiresAt`:
    // $$NOW is read when a command starts, not when it executes. The owner waits no more.
    {"@again", R"({"$and": [{"$eq": [{"$type": "$lockId"}, "string"]}, "@owner's"]})"},
    {"@expiry", R"({"$add": ["$$NOW", "@in force"]})"},
    {"@taken", R"({
      "_id": "$_id",
      "lockId": {"$concat": [
        {"$reduce": {
          "input": {"$filter": {"input": "@entries", "as": "e", "cond":
            {"$and": ["@alive", {"$ne": ["@own at", "@lockId at"]}]}}},
          "initialValue": {"$literal": "@lockId"},
          "in": "@append"}},
        "@same tickets"]},
      "acquiredAt": {"$cond": ["@again", "$acquiredAt", "$$NOW"]},
      "expiresAt": {"$cond": ["@again", {"$max": ["$expiresAt", "@expiry"]}, "@expiry"]},
      "fencingToken": "@token"})"},
    {"@receive", R"({"$replaceWith": "@taken"})"},

    // An upsert makes a document that has nothing but its name, and one without a sound lockId or
    // date is nobody's to take.
    {"@is observed", R"({"$eq": ["@holder", {"$literal": "@observed lockId"}]})"},
    {"@observed", R"({"case": "@is observed", "then": true})"},
    {"@acquire", R"({"$replaceWith": {"$cond": [
      {"$switch": {
        "branches": [
          {"case": {"$eq": ["$$ROOT", {"_id": "$_id"}]}, "then": true},
          {"case": {"$or": [{"$ne": [{"$type": "$lockId"}, "string"]},
                            {"$ne": [{"$type": "$expiresAt"}, "date"]}]}, "then": false},
          {"case": "@owner's", "then": true},
          "@if observed"],
        "default": {"$lte": ["$expiresAt", "$$NOW"]}}},
      "@taken",
      "@refused"]}})"},

    // A lockId of the .NET package has 32 bytes and no dot.
    {"@our form", R"({"$and": [
      {"$eq": [{"$type": "$lockId"}, "string"]},
      {"$eq": [{"$indexOfBytes": ["$lockId", "."]}, "@owner digits"]}]})"},

    // What becomes of the tickets when a call without a place finds room or none. While calls are
    // outside, the second half of the places is for those whose turn is near. So a newcomer does
    // not overtake them; and as calls that do not come back leave more than half of the places
    // free, those hold up nothing.
    {"@tickets", R"({"$split": [
      {"$let": {"vars": {"last": "@last"}, "in":
        {"$cond": ["@last is tickets", {"$concat": ["$$last"]}, "+.0.0"]}}},
      "."]})"},
    {"@taken tickets", R"({"$convert": {
      "input": {"$arrayElemAt": ["$$tickets", 1]}, "to": "long", "onError": 0, "onNull": 0}})"},
    {"@admitted", R"({"$convert": {
      "input": {"$arrayElemAt": ["$$tickets", 2]}, "to": "long", "onError": 0, "onNull": 0}})"},
    {"@outside", R"({"$gt": ["@taken tickets", "@admitted"]})"},
    {"@early", R"({"$gt": ["@ticket", {"$add": ["@admitted", "@room"]}]})"},
    {"@one more taken", R"({"$concat": [
      "~+.", {"$toString": {"$add": ["@taken tickets", 1]}}, ".", {"$toString": "@admitted"}]})"},
    {"@one more admitted", R"({"$concat": [
      "~+.", {"$toString": "@taken tickets"}, ".", {"$toString": {"$add": ["@admitted", 1]}}]})"},

    // until, stands, lasts, owner, lease, beat. A late command of an earlier beat does not take the
    // place of a later one.
    {"@entry", R"({"$concat": [
      {"$toString": {"$toLong": {"$add": ["$$NOW", "@queues for"]}}},
      {"$literal": "@behind until"}]})"},
    {"@beat there", R"({"$convert": {
      "input": {"$arrayElemAt": [{"$split": ["$$e", "."]}, 5]},
      "to": "long", "onError": 0, "onNull": 0}})"},
    {"@own entry again", R"({"$map": {
      "input": {"$filter": {"input": "@entries", "as": "e", "cond": "@alive"}},
      "as": "e",
      "in": {"$cond": [
        {"$and": [{"$eq": ["@own at", "@lockId at"]}, {"$lt": ["@beat there", "@beat"]}]},
        "@entry",
        "$$e"]}}})"},
    {"@queued lockId", R"({"$cond": [
      {"$gte": [{"$indexOfBytes": ["$$whole", {"$literal": "@.owner."}]}, 0]},
      {"$concat": ["$$whole", "@same tickets"]},
      {"$cond": [
        {"$or": [
          {"$gte": [{"$size": "$$queue"}, "@room"]},
          {"$and": ["@outside", {"$gte": [{"$size": "$$queue"}, "@half"]}, "@if early"]}]},
        {"$concat": ["$$whole", "@tickets if refused"]},
        {"$concat": [
          {"$concat": ["$$whole", "~", "@entry"]},
          {"$cond": ["@outside", "@one more admitted", "@same tickets"]}]}]}]})"},
    {"@queued", R"({"$cond": [
      {"$eq": [{"$type": "$expiresAt"}, "date"]},
      {"$cond": [
        "@our form",
        {"$mergeObjects": ["$$ROOT", {"lockId":
          {"$let": {"vars": {"queue": "@own entry again"}, "in":
            {"$let": {
              "vars": {"whole":
                {"$reduce": {"input": "$$queue", "initialValue": "@holder", "in": "@append"}}},
              "in":
                {"$let": {"vars": {"tickets": "@tickets"}, "in": "@queued lockId"}}}}}}}]},
        "$$ROOT"]},
      "$$ROOT"]})"},

    // Cheaper than to go through the entries.
    {"@same queue", R"({"$let": {"vars": {"at": {"$indexOfBytes": ["$lockId", "~"]}}, "in":
      {"$cond": [{"$gte": ["$$at", 0]}, {"$substrBytes": ["$lockId", "$$at", -1]}, ""]}}})"},
    {"@extend", R"({"$set": {
      "lockId": {"$concat": [{"$literal": "@lockId"}, "@same queue"]},
      "expiresAt": {"$max": ["$expiresAt", "@expiry"]},
      "fencingToken": {"$max": ["$fencingToken", "@own token"]}}})"},

    // Whether a release leaves the lock free for calls that poll: if the lock was given in another
    // second than this one. After a longer holding most releases are in another second; then it is
    // left free for a quarter of the owners in its queue alone. So at most about one release in
    // four costs the gap, whatever the holdings, and the change of a leader usually has none. An
    // owner ends in a random hexadecimal digit.
    {"@given", R"({"$toString": {"$convert": {
      "input": "$acquiredAt", "to": "long", "onError": 0, "onNull": 0}}})"},
    {"@turn of all", R"({"$and": [
      {"$ne": [
        {"$substrBytes": [{"$toString": {"$toLong": {"$add": ["$$NOW", 0]}}}, 0, "@second"]},
        {"$substrBytes": ["@given", 0, "@second"]}]},
      {"$or": [
        {"$gt": ["@given", {"$toString": {"$toLong": {"$add": ["$$NOW", -250]}}}]},
        {"$lt": [{"$substrBytes": ["$$head", "@end of owner", 1]}, "4"]}]}]})"},

    // A release may have begun before the attempt that left $$head was even sent, and executes
    // after it nevertheless: $$NOW is of when a command began. A grant is dated no earlier than its
    // entry, because its receiver counts from that attempt and would else rely on a lease that
    // others see expired.
    {"@until", R"({"$convert": {
      "input": {"$substrBytes": ["$$head", 0, "@until digits"]},
      "to": "long", "onError": 0, "onNull": 0}})"},
    {"@stands", R"({"$convert": {
      "input": {"$substrBytes": ["$$head", "@stands at", "@span digits"]},
      "to": "long", "onError": 0, "onNull": 0}})"},
    {"@lasts", R"({"$convert": {
      "input": {"$substrBytes": ["$$head", "@lasts at", "@span digits"]},
      "to": "long", "onError": 0, "onNull": 0}})"},
    {"@granted at", R"({"$add": ["$$NOW", {"$max": [
      0, {"$subtract": [{"$subtract": ["@until", "@stands"]}, {"$toLong": "$$NOW"}]}]}]})"},

    // The queue is empty: as after a delete, because the lock has been free since 1970. The lockId
    // has no owner, so no late extension revives it.
    {"@freed", R"({
      "_id": "$_id",
      "lockId": "",
      "acquiredAt": "$acquiredAt",
      "expiresAt": {"$date": {"$numberLong": "0"}},
      "fencingToken": "@token"})"},

    // To $$queue's first, $$head: it gets the lock; or it is offered the lock, which is free then.
    // An entry that is offered it stays the first in the queue, because another call may be
    // quicker.
    {"@head lockId", R"({"$substrBytes": ["$$head", "@lockId at", -1]})"},
    {"@given to head", R"({
      "_id": "$_id",
      "lockId": {"$concat": [
        {"$reduce": {
          "input":
            {"$cond": ["@turn of all", "$$queue", {"$slice": ["$$queue", 1, "@most in queue"]}]},
          "initialValue": "@head lockId",
          "in": "@append"}},
        "@same tickets"]},
      "acquiredAt": "@granted at",
      "expiresAt": {"$cond": [
        "@turn of all", {"$date": {"$numberLong": "0"}}, {"$add": ["@granted at", "@lasts"]}]},
      "fencingToken": "@token"})"},
    {"@offered to head", R"({
      "_id": "$_id",
      "lockId": {"$concat": [
        {"$reduce": {"input": "$$queue", "initialValue": "@head lockId", "in": "@append"}},
        "@same tickets"]},
      "acquiredAt": "@granted at",
      "expiresAt": {"$date": {"$numberLong": "0"}},
      "fencingToken": "@token"})"},

    {"@who stays in the queue", R"({"$filter": {"input": "@entries", "as": "e", "cond": {"$and": [
      "@alive", {"$ne": ["@own at", "@lockId at"]}, {"$ne": ["@other at", "@lockId at"]}]}}})"},
    {"@to the queue", R"({"$cond": [
      {"$eq": [{"$size": "$$queue"}, 0]},
      "@freed",
      {"$let": {"vars": {"head": {"$arrayElemAt": ["$$queue", 0]}}, "in": "@to head"}}]})"},
    {"@out of the queue", R"({"$mergeObjects": ["$$ROOT", {"lockId":
      {"$concat": [
        {"$reduce": {"input": "$$queue", "initialValue": "@holder", "in": "@append"}},
        "@same tickets"]}}]})"},
    {"@pass on", R"({"$replaceWith": {"$cond": [
      "@our form",
      {"$let": {"vars": {"queue": "@who stays in the queue"}, "in":
        {"$cond": [{"$or": ["@owner's", "@other's"]}, "@to the queue", "@out of the queue"]}}},
      "$$ROOT"]}})"},

    // Readers, or the permits of one number: "@.mark" says which. One that stands alone has its
    // dates in the document's fields. The first part of what is split is no entry, and has no date
    // in its place.
    {"@shared", R"({"$and": [
      "@our form", {"$eq": [{"$indexOfBytes": ["$lockId", "@.mark"]}, "@owner digits"]}]})"},
    {"@their entries", R"({"$split": [
      {"$cond": [
        {"$eq": [{"$indexOfBytes": ["$lockId", "@readers' owner"]}, 0]},
        "@holder",
        {"$concat": [
          {"$toString": {"$convert": {
            "input": "$expiresAt", "to": "long", "onError": 0, "onNull": 0}}},
          {"$concat": [".", "@given", "@first slot."]},
          "@holder"]}]},
      "|"]})"},
    {"@readers", R"({"$cond": ["@shared", "@their entries", []]})"},

    // The entry $$e of a reader, in parts rather than cut: a cut amid a character is an error.
    {"@its until", R"({"$convert": {
      "input": {"$arrayElemAt": [{"$split": ["$$e", "."]}, 0]},
      "to": "long", "onError": 0, "onNull": 0}})"},
    {"@its since", R"({"$arrayElemAt": [{"$split": ["$$e", "."]}, 1]})"},
    {"@in time", R"({"$gt": ["@its until", {"$toLong": "$$NOW"}]})"},
    {"@own", R"({"$eq": ["@own at", "@reader's lockId at"]})"},
    {"@own or in time", R"({"$or": ["@own", "@in time"]})"},
    // As a command leaves it. A late one does not lower `until`, and `since` names the first grant.
    {"@own again", R"({"$concat": [
      {"$toString": {"$max": ["@its until", {"$add": [{"$toLong": "$$NOW"}, "@in force"]}]}},
      ".",
      {"$ifNull": ["@its since", {"$concat": [{"$toString": {"$toLong": "$$NOW"}}, "@slot"]}]},
      {"$literal": "@.lockId"}]})"},
    // The $$nth of the numbers that no entry of $$before has.
    {"@free slot", R"({"$substrBytes": [{"$toString": {"$add": ["@slot base", {"$arrayElemAt": [
      {"$setDifference": [
        {"$range": [0, "@most readers"]},
        {"$map": {"input": "$$before", "as": "e", "in":
          {"$convert": {"input": {"$substrBytes": ["@its since", "@until digits", -1]},
                        "to": "long", "onError": 0, "onNull": 0}}}}]},
      "$$nth"]}]}}, 1, -1]})"},
    {"@joiner's slot", R"({"$let": {"vars": {"nth": 0}, "in": "@free slot"}})"},
    {"@$$head's slot", R"({"$let": {
      "vars": {"nth": {"$indexOfArray": ["$$admitted", "$$head"]}}, "in": "@free slot"}})"},

    // The readers $$all. Who knows no readers relies on the longest lease and the latest date.
    {"@append reader", R"({"$concat": ["$$value", "|", "$$this"]})"},
    {"@their lockId", R"({"$reduce": {
      "input": "$$all",
      "initialValue": {"$concat": [
        "@readers' owner",
        {"$reduce": {"input": "$$all", "initialValue": "", "in":
          {"$max": ["$$value", {"$arrayElemAt": [{"$split": ["$$this", "."]}, 3]}]}}},
        ".0.shared"]},
      "in": "@append reader"}})"},
    {"@their end", R"({"$let": {
      "vars": {"e":
        {"$reduce": {"input": "$$all", "initialValue": "", "in": {"$max": ["$$value", "$$this"]}}}},
      "in": {"$add": [{"$date": {"$numberLong": "0"}}, "@its until"]}}})"},
    // $$before: those that held the lock already.
    {"@theirs", R"({
      "_id": "$_id",
      "lockId": {"$concat": [
        {"$reduce": {"input": "$$queue", "initialValue": "@their lockId", "in": "@append"}},
        "@same tickets"]},
      "acquiredAt": {"$cond": [{"$gt": [{"$size": "$$before"}, 0]}, "$acquiredAt", "$$NOW"]},
      "expiresAt": "@their end",
      "fencingToken": "@token"})"},

    // The place $$e in the queue: a reader's has a lease that begins with 0.
    {"@own place", R"({"$eq": ["@own at", "@lockId at"]})"},
    {"@reads", R"({"$eq": [
      {"$indexOfBytes": ["$$e", "@.mark", "@before lease", "@behind mark"]}, "@before lease"]})"},
    {"@writes", R"({"$eq": ["@reads", false]})"},
    {"@waits", R"({"$literal": true})"},
    {"@nobody before", R"({"$let": {
      "vars": {"e": {"$arrayElemAt": [
        {"$filter": {"input": "$$queue", "as": "e", "cond":
          {"$or": ["@own place", "@passes none"]}}},
        0]}},
      "in": {"$or": ["@own place", {"$ne": [{"$type": "$$e"}, "string"]}]}}})"},

    // $$before with the own entry at the end, and $$queue without the own place.
    {"@joined", R"({"$let": {
      "vars": {"all": {"$concatArrays": [
        {"$filter": {"input": "$$before", "as": "e", "cond": {"$eq": ["@own", false]}}},
        ["@own again"]]}},
      "in": {"$let": {
        "vars": {"queue": {"$filter": {
          "input": "$$queue", "as": "e", "cond": {"$eq": ["@own place", false]}}}},
        "in": "@theirs"}}}})"},
    // $$e is the own entry, if it is there. A document that is not there, or is free, has a date
    // before now, too.
    {"@may join", R"({"$or": [
      "$$e",
      "@is observed",
      {"$lte": ["$expiresAt", "$$NOW"]},
      {"$and": [
        "@shared", {"$lt": [{"$size": "$$before"}, "@most readers"]}, "@nobody before"]}]})"},
    {"@join", R"({"$replaceWith": {"$cond": [
      {"$or": [
        {"$eq": ["$$ROOT", {"_id": "$_id"}]},
        {"$and": [{"$eq": [{"$type": "$lockId"}, "string"]},
                  {"$eq": [{"$type": "$expiresAt"}, "date"]}]}]},
      {"$let": {
        "vars": {"queue": {"$filter": {"input": "@entries", "as": "e", "cond": "@alive"}}},
        "in": {"$let": {
          "vars": {"before": {"$filter": {
            "input": {"$cond": ["@is observed", [], "@readers"]},
            "as": "e", "cond": "@own or in time"}}},
          "in": {"$let": {
            "vars": {"e": {"$arrayElemAt": [
              {"$filter": {"input": "$$before", "as": "e", "cond": "@own"}}, 0]}},
            "in": {"$cond": ["@may join", "@joined", "@refused"]}}}}}}},
      "$$ROOT"]}})"},

    {"@extend reader", R"({"$replaceWith": {"$let": {
      "vars": {"all": {"$map": {
        "input": {"$filter": {"input": "@their entries", "as": "e", "cond": "@own or in time"}},
        "as": "e",
        "in": {"$cond": ["@own", "@own again", "$$e"]}}}},
      "in": {"$mergeObjects": ["$$ROOT", {
        "lockId": {"$concat": ["@their lockId", "@same queue"]},
        "expiresAt": "@their end"}]}}}})"},

    // To the readers of the queue, if its first is one: from places to entries. Each is dated as
    // the one whom a lock is given to. $$gives: the lock is not a writer's that stays.
    {"@admitted readers", R"({"$cond": [
      {"$and": [
        "$$gives",
        {"$let": {"vars": {"e": {"$arrayElemAt": ["$$queue", 0]}}, "in": "@reads"}},
        {"$lt": [{"$size": "$$before"}, "@most readers"]}]},
      {"$slice": [
        {"$filter": {"input": "$$queue", "as": "e", "cond": "@reads"}},
        0,
        {"$subtract": ["@most readers", {"$size": "$$before"}]}]},
      []]})"},
    {"@entry of $$head", R"({"$let": {"vars": {"since": {"$toLong": "@granted at"}}, "in":
      {"$concat": [
        {"$toString": {"$add": ["$$since", "@lasts"]}},
        ".",
        {"$toString": "$$since"},
        {"$concat": ["@slot", ".", "@head lockId"]}]}}})"},
    {"@theirs after a leave", R"({"$let": {
      "vars": {"queue": {"$filter": {
        "input": "$$queue", "as": "e", "cond": {"$eq": [{"$in": ["$$e", "$$admitted"]}, false]}}}},
      "in": {"$mergeObjects": ["@theirs", {"$cond": [
        {"$eq": [{"$size": "$$admitted"}, 0]}, {"fencingToken": "$fencingToken"}, {}]}]}}})"},
    {"@leave", R"({"$replaceWith": {"$cond": [
      "@our form",
      {"$let": {
        "vars": {"queue": "@who stays in the queue"},
        "in": {"$let": {
          "vars": {"before": {"$filter": {"input": "@readers", "as": "e", "cond": {"$and": [
            "@in time",
            {"$eq": ["@own", false]},
            {"$ne": ["@other at", "@reader's lockId at"]}]}}}},
          "in": {"$let": {
            "vars": {"gives": {"$or": ["@owner's", "@other's", "@shared"]}},
            "in": {"$let": {
              "vars": {"admitted": "@admitted readers"},
              "in": {"$let": {
                "vars": {"all": {"$concatArrays": [
                  "$$before",
                  {"$map": {"input": "$$admitted", "as": "head", "in": "@entry of $$head"}}]}},
                "in": {"$cond": [
                  {"$gt": [{"$size": "$$all"}, 0]},
                  "@theirs after a leave",
                  {"$cond": ["$$gives", "@to the queue", "@out of the queue"]}]}}}}}}}}}}},
      "$$ROOT"]}})"},
};

constexpr std::int64_t kOwnerDigits = 32;
/// One more digit than slots have: so they keep their zeros as text.
constexpr std::int64_t kSlotBase = 10'000;

const BsonTexts& stages() {
  static const BsonTexts all(kStages, BsonTexts::Numbers::of_64_bits,
                             {{"@epoch", FencingToken::kEpochSeconds},
                              {"@owner digits", kOwnerDigits},
                              {"@longest entry", milliseconds(core::kLongestEntry).count()},
                              {"@most in queue", std::int64_t{core::kMostInQueue}},
                              {"@until digits", core::kUntilDigits},
                              {"@second", core::kUntilDigits - 3},
                              {"@span digits", core::kSpanDigits},
                              {"@stands at", core::kStandsAt},
                              {"@lasts at", core::kLastsAt},
                              {"@lockId at", core::kEntryLockIdAt},
                              {"@before lease", core::kEntryLockIdAt + kOwnerDigits},
                              {"@readers' owner", core::kReadersOwner},
                              {"@slot base", kSlotBase},
                              {"@end of owner", core::kEntryLockIdAt + kOwnerDigits - 1}});
  return all;
}

/// No lockId has a mark before its queue.
constexpr std::string_view kNoHolders = "~";

/// When the server may give the lock to another: the margin is for clocks of other members.
std::int64_t in_force(milliseconds lease, milliseconds margin) { return (lease + margin).count(); }

/// A stage of one that shares the lock, and what all of them are filled with. A reader passes no
/// writer that waits; a call for a permit, nobody.
Bson shared_stage(std::string_view name, core::Room room, std::string_view slot,
                  std::initializer_list<Hole> own) {
  const bool reads = room == core::kReaders;
  const std::string mark = '.' + core::mark_of(room);
  const auto before_lease = std::int64_t{core::kEntryLockIdAt} + kOwnerDigits;
  std::vector<Hole> holes{
      {"@.mark", mark},
      {"@behind mark", before_lease + std::ssize(mark)},
      {"@most readers", static_cast<std::int64_t>(core::most_in(room))},
      {"@first slot.", reads ? "." : "0000."},
      {"@reader's lockId at", core::kReaderLockIdAt + (reads ? 0 : core::kSlotDigits)}};
  static const std::string readers = '.' + core::mark_of(core::kReaders);
  static const Bson waits = stages().filled("@waits"),
                    writes = stages().filled(
                        "@writes", {{"@.mark", readers},
                                    {"@behind mark", before_lease + std::ssize(readers)}});
  std::optional<Bson> numbered;
  if (!reads && !slot.empty()) numbered = stages().filled(slot, holes);
  holes.insert(holes.end(), own);
  holes.push_back({"@passes none", reads ? &writes : &waits});
  holes.push_back(numbered ? Hole{"@slot", &*numbered} : Hole{"@slot", ""});
  return stages().filled(name, holes);
}

Bson queued(const core::AcquireCommand& command) {
  static const Bson same = stages().filled("@same tickets");
  static const Bson one_more = stages().filled("@one more taken");
  const auto room = static_cast<std::int64_t>(command.queue_room);
  const auto parsed = core::parse_lock_id(command.lock_id);
  const std::string own = to_hex(command.owner) + '.', own_part = '.' + own;
  const auto entry = core::entry_without_until(*command.queues_for, command.lease + command.margin,
                                               command.lock_id);
  std::optional<Bson> early;
  if (command.ticket) {
    early = stages().filled("@early", {{"@ticket", *command.ticket}, {"@room", room}});
  }
  return stages().filled("@queued", {{"@owner.", own},
                                    {"@.owner.", own_part},
                                    {"@queues for", command.queues_for->count()},
                                    {"@behind until", entry},
                                    {"@beat", static_cast<std::int64_t>(parsed ? parsed->beat : 0)},
                                    {"@room", room},
                                    {"@half", (room + 1) / 2},
                                    {"@if early", early ? &*early : nullptr},
                                    {"@tickets if refused", command.ticket ? &same : &one_more}});
}

}  // namespace

Bson stage_of(const core::AcquireCommand& command) {
  std::optional<Bson> observed, refused;
  if (command.observed) {
    observed = stages().filled("@observed", {{"@observed lockId", *command.observed}});
  }
  if (command.queues_for) refused = queued(command);
  const std::string owner = to_hex(command.owner) + '.', lock_id = '.' + command.lock_id;
  const Hole of_owner{"@owner.", owner}, in{"@in force", in_force(command.lease, command.margin)},
      or_else = refused ? Hole{"@refused", &*refused} : Hole{"@refused", "$$ROOT"};
  if (command.room != 0) {
    return shared_stage(
        "@join", command.room, "@joiner's slot",
        {of_owner, in, or_else,
         {"@lockId", command.lock_id},
         {"@.lockId", lock_id},
         {"@observed lockId", command.observed ? *command.observed : kNoHolders}});
  }
  return stages().filled("@acquire", {of_owner, in, or_else,
                                     {"@lockId", command.lock_id},
                                     {"@if observed", observed ? &*observed : nullptr}});
}

Bson stage_of(const core::HandOverCommand& command) {
  return stages().filled("@receive", {{"@owner.", to_hex(command.owner) + '.'},
                                     {"@lockId", command.lock_id},
                                     {"@in force", in_force(command.lease, command.margin)}});
}

Bson stage_of(const core::ExtendStatement& statement) {
  if (statement.room != 0) {
    return shared_stage("@extend reader", statement.room, "",
                        {{"@owner.", to_hex(statement.owner) + '.'},
                         {"@.lockId", '.' + statement.lock_id},
                         {"@in force", in_force(statement.lease, statement.margin)}});
  }
  return stages().filled("@extend", {{"@lockId", statement.lock_id},
                                    {"@in force", in_force(statement.lease, statement.margin)},
                                    {"@own token", statement.token.value()}});
}

Bson stage_of(const core::PassOnCommand& command) {
  static const Bson given = stages().filled("@given to head");
  static const Bson offered = stages().filled("@offered to head");
  const std::string owner = to_hex(command.owner) + '.',
                    other = to_hex(command.or_owner.value_or(command.owner)) + '.';
  const std::initializer_list<Hole> holes{{"@owner.", owner},
                                          {"@other.", other},
                                          {"@to head", command.offers ? &offered : &given}};
  if (command.room == 0) return stages().filled("@pass on", holes);
  return shared_stage("@leave", command.room, "@$$head's slot", holes);
}

Bson holders_lock_id() { return stages().filled("@holder"); }

}  // namespace leasehold::mongo
