#include <gtest/gtest.h>

#include <leasehold/mongoc.hpp>

#include "mongo/bson.hpp"

namespace leasehold {
namespace {

using mongo::Bson;

std::string_view bytes(const Bson& document) {
  return {reinterpret_cast<const char*>(bson_get_data(document.get())), document.get()->len};
}

std::string json(std::string_view document) {
  char* text = bson_as_relaxed_extended_json(Bson::of(document).get(), nullptr);
  std::string out(text);
  bson_free(text);
  return out;
}

TEST(FencedBytes, AreWhatFencedUpdateSends) {
  Bson id, update;
  id.text("_id", "order-7");
  update.doc("$set", [](Bson& set) { set.text("state", "done"); });
  update.doc("$max", [](Bson& max) { max.int32("best", 9); });
  const auto write = detail::fenced_bytes(bytes(id), bytes(update), FencingToken(7));
  ASSERT_TRUE(write) << write.error();
  EXPECT_EQ(json(write->filter),
            R"({ "_id" : "order-7", "$or" : [ { "fencingToken" : null }, )"
            R"({ "fencingToken" : { "$lte" : 7, "$not" : { "$type" : "array" } } } ] })");
  EXPECT_EQ(json(write->update),
            R"({ "$set" : { "state" : "done" }, "$max" : { "best" : 9, "fencingToken" : 7 } })");
}

TEST(FencedBytes, BadArgumentsOfFencedBytesAreNamed) {
  Bson id, update, none;
  id.int32("_id", 7);
  update.doc("$inc", [](Bson& inc) { inc.int32("n", 1); });
  const auto said = [](std::string_view which, std::string_view change, std::int64_t token) {
    const auto error = detail::fenced_bytes(which, change, FencingToken(token)).error();
    EXPECT_EQ(error.kind, ErrorKind::invalid_option);
    return error.message;
  };
  EXPECT_EQ(said(bytes(id), bytes(update), 0),
            "token is 0: it must be that of a lock that was held");
  EXPECT_EQ(said(bytes(none), bytes(update), 7),
            "id must be a document with _id and nothing else");
  EXPECT_EQ(said(bytes(id), bytes(id), 7),
            "update has '_id': it must have update operators only, each with a document");
  EXPECT_EQ(said("", bytes(update), 7), "id and update must be whole documents");
  EXPECT_EQ(said(bytes(id), bytes(update).substr(1), 7), "id and update must be whole documents");
}

}  // namespace
}  // namespace leasehold
