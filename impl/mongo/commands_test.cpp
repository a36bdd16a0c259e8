#include "mongo/commands.hpp"

#include <gtest/gtest.h>

#include <leasehold/mongoc.hpp>

/// The commands of a lock's life are in `kept` (kept_test.cpp); here are the others.
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

TEST(Commands, AnObservedLockIdIsALiteralNeverAnExpression) {
  const core::AcquireCommand acquire{1, "job", kOwner, kHex + ".3000.1", "$lockId",
                                     milliseconds(3'000), milliseconds(500)};
  const auto text = json(build({1, milliseconds(1'000), acquire}, "locks"));
  EXPECT_TRUE(contains(text, R"({ "case" : { "$eq" : [ { "$arrayElemAt" : [ { "$split" : )"
                             R"([ { "$ifNull" : [ "$lockId", "" ] }, "~" ] }, 0 ] }, )"
                             R"({ "$literal" : "$lockId" } ] }, "then" : true })"))
      << text;
}

TEST(Commands, AnExtensionOfAReaderNamesItsGrantAmongOthersOrAlone) {
  const core::ExtendStatement own{1, "job", kOwner, {1'700'000'000'123}, kHex + ".000003000.2",
                                  milliseconds(3'000), milliseconds(500), {}, core::kReaders};
  const auto text = json(build({1, milliseconds(1'000), core::ExtendCommand{{own}}}, "locks"));
  const auto pattern = [](const std::string& regex) {
    return R"({ "$regularExpression" : { "pattern" : ")" + regex + R"(", "options" : "" } })";
  };
  EXPECT_TRUE(contains(
      text, R"({ "q" : { "_id" : "job", "$or" : [ { "lockId" : )" +
                pattern(R"(^0{32}\\.[^~]*\\.1700000000123\\.)" + kHex + R"(\\.)") +
                R"( }, { "lockId" : )" + pattern('^' + kHex + R"(\\.0)") +
                R"(, "acquiredAt" : { "$date" : "2023-11-14T22:13:20.123Z" } } ] }, )"))
      << text;
  EXPECT_FALSE(contains(text, "fencingToken")) << "a change of it means a grant";
}

/// How the name of a lock's holder, of a reader or of a waiting call is taken by a server, virtual
/// runs show.
TEST(Commands, TextOfAReaderIsALiteralNeverAnExpression) {
  const core::AcquireCommand join{
      1,       "job",           kOwner,          kHex + ".000003000.1.$lockId",
      "$lockId", milliseconds(3'000), milliseconds(500), {}, core::kMostInQueue, {},
      core::kReaders};
  const auto text = json(build({1, milliseconds(1'000), join}, "locks"));
  EXPECT_TRUE(contains(text, R"({ "$literal" : ".)" + kHex + R"(.000003000.1.$lockId" })")) << text;
  EXPECT_TRUE(contains(text, R"({ "$literal" : "$lockId" })")) << text;
}

TEST(Commands, LookReadsOnlyWhatJudgesAnExtensionAndTheEnd) {
  const Command look{4, milliseconds(100), core::ReadHoldersCommand{{"a", "b"}}};
  EXPECT_EQ(json(build(look, "locks")),
            R"({ "find" : "locks", "filter" : { "_id" : { "$in" : [ "a", "b" ] } }, )"
            R"("projection" : { "lockId" : 1, "acquiredAt" : 1, "expiresAt" : 1 }, )"
            R"("batchSize" : 100000, "singleBatch" : true, "maxTimeMS" : 90 })");
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
      R"({ "$regularExpression" : { "pattern" : "^(0{32}\\.[^~]*\\.)?000000000000000a", )"
      R"("options" : "" } })";
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
            R"({ "getMore" : 1152921504606846976, "collection" : "locks", "maxTimeMS" : 1500 })");
  EXPECT_EQ(text(Step::close, 7), R"({ "killCursors" : "locks", "cursors" : [ 7 ] })");
}

std::string_view bytes(const Bson& document) {
  return {reinterpret_cast<const char*>(bson_get_data(document.get())), document.get()->len};
}

TEST(FencedBytes, AreWhatFencedUpdateSends) {
  Bson id, update;
  id.text("_id", "order-7");
  update.doc("$set", [](Bson& set) { set.text("state", "done"); });
  update.doc("$max", [](Bson& max) { max.int32("best", 9); });
  const auto write = detail::fenced_bytes(bytes(id), bytes(update), FencingToken(7));
  EXPECT_EQ(json(Bson::of(write->filter)),
            R"({ "_id" : "order-7", "$or" : [ { "fencingToken" : null }, )"
            R"({ "fencingToken" : { "$lte" : 7, "$not" : { "$type" : "array" } } } ] })");
  EXPECT_EQ(json(Bson::of(write->update)),
            R"({ "$set" : { "state" : "done" }, )"
            R"("$max" : { "best" : 9, "fencingToken" : 7, "writeToken" : 7 } })");
  EXPECT_EQ(detail::fenced_bytes(bytes(id), bytes(update).substr(1), FencingToken(7)).error(),
            (Error{ErrorKind::invalid_option, 0, "id and update must be whole documents"}));
}

}  // namespace
}  // namespace leasehold::mongo
