#pragma once

#include <bsoncxx/document/value.hpp>
#include <bsoncxx/document/view.hpp>
#include <leasehold/mongoc.hpp>
#include <string_view>

/// For applications that use the official driver for C++ (mongocxx 3.7 and later, 4 too). The
/// library itself does not need it.
namespace leasehold::inline v0_1 {

/// What `update_one` of a fenced write gets.
struct FencedWrite {
  bsoncxx::document::value filter, update;
};

/// The documents that `fenced_update` sends: the field `fencingToken` that the document keeps must
/// not be above `token`, and is `token` afterwards, as is `writeToken`. Sends nothing.
///
/// `id` is {_id: ...} and nothing else; `update` has update operators only. An Error
/// (`invalid_option`) names what is wrong with them. Send it with a write concern of a majority. A
/// `matched_count` of 0: a later holder has written, or there is no such document. With `upsert`
/// that is an exception of code 11000, for a lost race between two inserts too: then try once more.
/// Thread safety: a function of its arguments.
///
///     auto write = leasehold::fenced_write(make_document(kvp("_id", "order-7")), update,
///                                          handle.fencing_token()).value();
///     auto done = orders.update_one(write.filter.view(), write.update.view(), majority);
///     if (done && done->matched_count() == 0) return;  // the lock is another's by now
[[nodiscard]] inline Result<FencedWrite> fenced_write(bsoncxx::document::view id,
                                                      bsoncxx::document::view update,
                                                      FencingToken token) {
  const auto bytes_of = [](bsoncxx::document::view document) {
    return std::string_view(reinterpret_cast<const char*>(document.data()), document.length());
  };
  const auto document_of = [](const std::string& bytes) {
    return bsoncxx::document::value(bsoncxx::document::view(
        reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  };
  auto bytes = detail::fenced_bytes(bytes_of(id), bytes_of(update), token);
  if (!bytes) return bytes.error();
  return FencedWrite{document_of(bytes->filter), document_of(bytes->update)};
}

}  // namespace leasehold
