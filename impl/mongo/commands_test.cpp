#include "mongo/commands.hpp"

#include <gtest/gtest.h>

namespace leasehold::mongo {
namespace {

using core::Command;
using std::chrono::milliseconds;

const core::Owner kOwner{0xA, 0xB};
const std::string kHex = "000000000000000a000000000000000b";

/// Newer drivers write an empty object with one space in it, where libmongoc 1.23 has two.
std::string json(const Bson& bson) {
  char* text = bson_as_relaxed_extended_json(bson.get(), nullptr);
  std::string out(text);
  bson_free(text);
  for (auto at = out.find("{ }"); at != out.npos; at = out.find("{ }", at)) out.insert(at + 1, " ");
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const core::Owner kGiver{0xC, 0xD};
const std::string kGiverHex = "000000000000000c000000000000000d";

Command acquire(std::optional<std::string> observed = std::nullopt) {
  return {1, milliseconds(1'000),
          core::AcquireCommand{1, "job", kOwner, kHex + ".3000.1", std::move(observed),
                               milliseconds(3'000), milliseconds(500)}};
}

/// This owner's lockId, then those who wait but itself.
std::string followed_by_queue() {
  const std::string now = R"({ "$toString" : { "$toLong" : { "$add" : [ "$$NOW", 0 ] } } })";
  const std::string latest =
      R"({ "$toString" : { "$toLong" : { "$add" : [ "$$NOW", 172800000 ] } } })";
  return R"({ "$concat" : [ { "$reduce" : { "input" : { "$filter" : { "input" : { "$slice" : [ )"
         R"({ "$split" : [ { "$ifNull" : [ "$lockId", "" ] }, "~" ] }, 1, 64 ] }, "as" : "e", )"
         R"("cond" : { "$and" : [ { "$and" : [ { "$gt" : [ "$$e", )" +
         now + R"( ] }, { "$lt" : [ "$$e", )" + latest +
         R"( ] } ] }, { "$ne" : [ { "$indexOfBytes" : [ "$$e", { "$literal" : ")" + kHex +
         R"(." } ] }, 34 ] } ] } } }, "initialValue" : { "$literal" : ")" + kHex +
         R"(.3000.1" }, "in" : { "$concat" : [ "$$value", "~", "$$this" ] } } }, )"
         R"({ "$let" : { "vars" : { "last" : { "$arrayElemAt" : [ )"
         R"({ "$split" : [ { "$ifNull" : [ "$lockId", "" ] }, "~" ] }, -1 ] } }, )"
         R"("in" : { "$cond" : [ { "$eq" : [ { "$indexOfBytes" : [ "$$last", "+." ] }, 0 ] }, )"
         R"({ "$concat" : [ "~", "$$last" ] }, "" ] } } } ] })";
}

// The golden shape of the one command that decides who holds a lock.
TEST(Commands, AcquireIsOneUpsertByPipeline) {
  const std::string mine = R"({ "$eq" : [ { "$indexOfBytes" : [ "$lockId", { "$literal" : ")" +
                           kHex + R"(." } ] }, 0 ] })";
  const std::string until = R"({ "$add" : [ "$$NOW", 3500 ] })";
  const std::string free_when =
      R"({ "$switch" : { "branches" : [ )"
      R"({ "case" : { "$eq" : [ "$$ROOT", { "_id" : "$_id" } ] }, "then" : true }, )"
      R"({ "case" : { "$or" : [ { "$ne" : [ { "$type" : "$lockId" }, "string" ] }, )"
      R"({ "$ne" : [ { "$type" : "$expiresAt" }, "date" ] } ] }, "then" : false }, )"
      R"({ "case" : )" +
      mine +
      R"(, "then" : true } ], )"
      R"("default" : { "$lte" : [ "$expiresAt", "$$NOW" ] } } })";
  const std::string ours =
      R"({ "$and" : [ { "$eq" : [ { "$type" : "$lockId" }, "string" ] }, )" + mine + R"( ] })";
  const auto text = json(build(acquire(), "locks"));
  EXPECT_TRUE(
      text.starts_with(R"({ "findAndModify" : "locks", "query" : { "_id" : "job" }, "update" : [ )"
                       R"({ "$replaceWith" : { "$cond" : [ )" +
                       free_when + R"(, { "_id" : "$_id", "lockId" : )" + followed_by_queue() +
                       R"(, "acquiredAt" : { "$cond" : [ )" + ours +
                       R"(, "$acquiredAt", "$$NOW" ] }, )"
                       R"("expiresAt" : { "$cond" : [ )" +
                       ours + R"(, { "$max" : [ "$expiresAt", )" + until + R"( ] }, )" + until +
                       R"( ] }, "fencingToken" : { "$max" : [ )"))
      << text;
  EXPECT_TRUE(text.ends_with(
      R"(, "$$ROOT" ] } } ], "upsert" : true, "new" : true, )"
      R"("writeConcern" : { "w" : "majority", "wtimeout" : 800 }, "maxTimeMS" : 900 })"))
      << text;
}

TEST(Commands, AnObservedLockIdIsALiteralNeverAnExpression) {
  const auto text = json(build(acquire("$lockId"), "locks"));
  EXPECT_TRUE(contains(text, R"({ "case" : { "$eq" : [ { "$arrayElemAt" : [ { "$split" : )"
                             R"([ { "$ifNull" : [ "$lockId", "" ] }, "~" ] }, 0 ] }, )"
                             R"({ "$literal" : "$lockId" } ] }, "then" : true })"))
      << text;
}

TEST(Commands, ExtendMatchesOwnerAndGrantAndNeverLowersTheExpiry) {
  const Command extend{2, milliseconds(1'000),
                       core::ExtendCommand{{{1,
                                             "job",
                                             kOwner,
                                             {5'000},
                                             kHex + ".3000.2",
                                             milliseconds(3'000),
                                             milliseconds(500),
                                             FencingToken(99)}}}};
  EXPECT_EQ(json(build(extend, "locks")),
            R"({ "update" : "locks", "updates" : [ { "q" : { "_id" : "job", "lockId" : )"
            R"({ "$regularExpression" : { "pattern" : "^)" +
                kHex +
                R"(\\.", "options" : "" } }, )"
                R"("acquiredAt" : { "$date" : "1970-01-01T00:00:05Z" } }, "u" : [ { "$set" : { )"
                R"("lockId" : { "$concat" : [ { "$literal" : ")" +
                kHex +
                R"(.3000.2" }, { "$let" : { "vars" : { "at" : )"
                R"({ "$indexOfBytes" : [ "$lockId", "~" ] } }, )"
                R"("in" : { "$cond" : [ { "$gte" : [ "$$at", 0 ] }, )"
                R"({ "$substrBytes" : [ "$lockId", "$$at", -1 ] }, "" ] } } } ] }, )"
                R"("expiresAt" : { "$max" : [ "$expiresAt", { "$add" : [ "$$NOW", 3500 ] } ] }, )"
                R"("fencingToken" : { "$max" : [ "$fencingToken", 99 ] } } } ] } ], )"
                R"("ordered" : false, "writeConcern" : { "w" : "majority", "wtimeout" : 800 }, )"
                R"("maxTimeMS" : 900 })");
}

TEST(Commands, DeleteMatchesTheOwner) {
  const Command remove{3, milliseconds(100), core::DeleteCommand{"job", kOwner}};
  EXPECT_EQ(json(build(remove, "locks")),
            R"({ "delete" : "locks", "deletes" : [ { "q" : { "_id" : "job", "lockId" : )"
            R"({ "$regularExpression" : { "pattern" : "^)" +
                kHex +
                R"(\\.", "options" : "" } } }, )"
                R"("limit" : 1 } ], "writeConcern" : { "w" : "majority", "wtimeout" : 80 }, )"
                R"("maxTimeMS" : 90 })");
}

TEST(Commands, LookReadsOnlyWhatJudgesAnExtension) {
  const Command look{4, milliseconds(100), core::ReadHoldersCommand{{"a", "b"}}};
  EXPECT_EQ(json(build(look, "locks")),
            R"({ "find" : "locks", "filter" : { "_id" : { "$in" : [ "a", "b" ] } }, )"
            R"("projection" : { "lockId" : 1, "acquiredAt" : 1 }, "batchSize" : 100000, )"
            R"("singleBatch" : true, "maxTimeMS" : 90 })");
}

TEST(Commands, LookReadsTheEndsWhereOneIsToBeChosen) {
  const Command look{4, milliseconds(100), core::ReadHoldersCommand{{"a#0", "a#1"}, true}};
  EXPECT_NE(json(build(look, "locks"))
                .find(R"("projection" : { "lockId" : 1, "acquiredAt" : 1, "expiresAt" : 1 })"),
            std::string::npos);
}

TEST(Commands, InspectReadsWhatNoOldPrimaryMakesUp) {
  const Command inspect{4, milliseconds(100), core::InspectCommand{"job"}};
  EXPECT_EQ(json(build(inspect, "locks")),
            R"({ "find" : "locks", "filter" : { "_id" : "job" }, "projection" : { "lockId" : 1, )"
            R"("acquiredAt" : 1, "expiresAt" : 1, "fencingToken" : 1, "now" : "$$NOW" }, )"
            R"("limit" : 1, "singleBatch" : true, "readConcern" : { "level" : "linearizable" }, )"
            R"("maxTimeMS" : 90 })");
}

TEST(Commands, TheIndexIsThePackages) {
  const Command index{5, milliseconds(100), core::EnsureIndexCommand{}};
  EXPECT_TRUE(
      json(build(index, "locks"))
          .starts_with(
              R"({ "createIndexes" : "locks", "indexes" : [ { "key" : { "expiresAt" : 1 }, )"
              R"("name" : "expiresAt_ttl", "expireAfterSeconds" : 0 } ])"));
}

TEST(Commands, AHandOverWritesTheSameDocumentWhereEitherOwnerStands) {
  const Command command{2, milliseconds(1'000),
                        core::HandOverCommand{1, "job", kGiver, kOwner, kHex + ".3000.2",
                                              milliseconds(3'000), milliseconds(500)}};
  const auto text = json(build(command, "locks"));
  EXPECT_TRUE(contains(text, R"("query" : { "_id" : "job", "lockId" : { "$regularExpression" : { )"
                             R"("pattern" : "^()" +
                                 kGiverHex + "|" + kHex))
      << text;
  EXPECT_TRUE(contains(text, R"("new" : true)")) << text;
  EXPECT_FALSE(contains(text, "upsert")) << "what is gone is not handed over: " << text;
  auto taken = json(build(acquire(), "locks"));
  taken = taken.substr(taken.find("acquiredAt"),
                       taken.find(R"(, "$$ROOT" ])") - taken.find("acquiredAt"));
  EXPECT_TRUE(contains(text, taken)) << text << "\nshould have\n" << taken;
}

TEST(Commands, AChangeStreamTellsOfTheGrantsOfItsProvider) {
  using Step = core::StreamCommand::Step;
  const auto text = [](Step step, std::int64_t cursor) {
    return json(build({1, milliseconds(3'000), core::StreamCommand{step, cursor, 0xA}}, "locks"));
  };
  const std::string before =
      R"({ "aggregate" : "locks", "pipeline" : [ { "$changeStream" : {  } }, )"
      R"({ "$match" : { "$or" : [ )";
  const std::string after =
      R"( ] } }, { "$project" : { "documentKey" : 1, "clusterTime" : 1, "fullDocument" : 1, )"
      R"("updateDescription.updatedFields" : 1 } } ], "cursor" : {  }, "maxTimeMS" : 2700 })";
  const std::string pattern =
      R"({ "$regularExpression" : { "pattern" : "^000000000000000a", "options" : "" } })";
  const std::string grants =
      R"({ "operationType" : "replace", "fullDocument.lockId" : )" + pattern +
      R"( }, { "updateDescription.updatedFields.lockId" : )" + pattern +
      R"(, "updateDescription.updatedFields.fencingToken" : { "$exists" : true } })";
  EXPECT_EQ(text(Step::open, 0), before + grants + after);
  const auto place = FencingToken::from_timestamp(1'700'000'000, 7);
  const core::StreamCommand since{Step::open, 0, 0xA, place};
  EXPECT_TRUE(contains(json(build({1, milliseconds(3'000), since}, "locks")),
                       R"([ { "$changeStream" : { "startAtOperationTime" : )"
                       R"({ "$timestamp" : { "t" : 1700000000, "i" : 7 } } } })"));
  EXPECT_EQ(text(Step::next, 1LL << 60),
            R"({ "getMore" : 1152921504606846976, "collection" : "locks", "maxTimeMS" : 1000 })");
  EXPECT_EQ(text(Step::close, 7), R"({ "killCursors" : "locks", "cursors" : [ 7 ] })");
}

TEST(Commands, ARefusedAcquireOfACallThatQueuesLeavesAnEntry) {
  auto command = acquire();
  EXPECT_FALSE(contains(json(build(command, "locks")), "$mergeObjects"));
  std::get<core::AcquireCommand>(command.body).queues_for = milliseconds(1'500);
  EXPECT_TRUE(contains(json(build(command, "locks")),
                       R"({ "$concat" : [ { "$toString" : { "$toLong" : { "$add" : )"
                       R"([ "$$NOW", 1500 ] } } }, { "$literal" : ".000001500.000003500.)" +
                           kHex + R"(.3000.1" } ] })"));
}

TEST(Commands, ADeleteMayBeForDocumentsWithoutAQueueAlone) {
  const Command remove{3, milliseconds(100), core::DeleteCommand{"job", kOwner, {}, true}};
  EXPECT_TRUE(contains(json(build(remove, "locks")), "^" + kHex + R"(\\.[^~]*$")"));
}

TEST(Commands, APassOnMatchesByNameAndReadsTheDocumentBefore) {
  const Command command{3, milliseconds(100), core::PassOnCommand{"job", kOwner, {}, false}};
  const auto text = json(build(command, "locks"));
  EXPECT_TRUE(contains(text, R"("query" : { "_id" : "job" }, )")) << text;
  EXPECT_FALSE(contains(text, "upsert")) << text;
  EXPECT_FALSE(contains(text, R"("new")")) << text;
}

TEST(Commands, AHandOverThatWasGivenUpIsDeletedByBothOwners) {
  const Command command{2, milliseconds(1'000), core::DeleteCommand{"job", kGiver, kOwner}};
  EXPECT_TRUE(contains(json(build(command, "locks")), "^(" + kGiverHex + "|" + kHex + ")"));
}

}  // namespace
}  // namespace leasehold::mongo
