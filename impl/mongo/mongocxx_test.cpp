#include <gtest/gtest.h>

#include <bsoncxx/builder/basic/document.hpp>
#include <bsoncxx/builder/basic/kvp.hpp>
#include <leasehold/mongocxx.hpp>

namespace leasehold {
namespace {

using bsoncxx::builder::basic::kvp;
using bsoncxx::builder::basic::make_document;

std::string bytes(bsoncxx::document::view document) {
  return {reinterpret_cast<const char*>(document.data()), document.length()};
}

/// What is in those bytes, FencedBytes tests.
TEST(FencedWrite, HasTheDocumentsOfAFencedUpdate) {
  const auto id = make_document(kvp("_id", "order-7"));
  const auto update = make_document(kvp("$set", make_document(kvp("state", "done"))));
  const auto write = fenced_write(id.view(), update.view(), FencingToken(7));
  ASSERT_TRUE(write) << write.error();
  const auto sent = detail::fenced_bytes(bytes(id), bytes(update), FencingToken(7)).value();
  EXPECT_EQ(bytes(write->filter), sent.filter);
  EXPECT_EQ(bytes(write->update), sent.update);
  EXPECT_EQ(fenced_write(update.view(), update.view(), FencingToken(7)).error().message,
            "id must be a document with _id and nothing else");
}

}  // namespace
}  // namespace leasehold
