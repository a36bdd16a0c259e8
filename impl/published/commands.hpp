#pragma once

#include <algorithm>
#include <string>

#include "mongo/bson.hpp"
#include "published/recipe.hpp"

/// Pieces that the recipes share.
namespace leasehold::published {

/// The server answers before the caller stops waiting.
inline void append_limits(mongo::Bson& d, const LockOptions& options) {
  const auto timeout = options.effective_operation_timeout().count();
  d.doc("writeConcern", [&](mongo::Bson& w) {
    w.text("w", "majority").int32("wtimeout", std::max<std::int64_t>(timeout * 8 / 10, 1));
  });
  d.int32("maxTimeMS", std::max<std::int64_t>(timeout * 9 / 10, 1));
}

/// {delete: collection, deletes: [{q: ..., limit: 1}]}
template <typename Query>
std::string delete_one(std::string_view collection, const LockOptions& options, Query query) {
  mongo::Bson d;
  d.text("delete", collection);
  d.array("deletes", [&](mongo::Bson& deletes) {
    deletes.doc("0", [&](mongo::Bson& one) {
      one.doc("q", query);
      one.int32("limit", 1);
    });
  });
  append_limits(d, options);
  return std::string(d.bytes());
}

/// {update: collection, updates: [{q: ..., u: ...}]}; `change` appends `u`.
template <typename Query, typename Change>
std::string update_one(std::string_view collection, const LockOptions& options, Query query,
                       Change change) {
  mongo::Bson d;
  d.text("update", collection);
  d.array("updates", [&](mongo::Bson& updates) {
    updates.doc("0", [&](mongo::Bson& one) {
      one.doc("q", query);
      change(one);
    });
  });
  d.flag("ordered", false);
  append_limits(d, options);
  return std::string(d.bytes());
}

/// An index on one field; TTL unless `expire_after` is negative.
inline std::string index_on(std::string_view collection, std::string_view field,
                            std::string_view name, std::int64_t expire_after_seconds, bool unique) {
  mongo::Bson d;
  d.text("createIndexes", collection);
  d.array("indexes", [&](mongo::Bson& indexes) {
    indexes.doc("0", [&](mongo::Bson& index) {
      index.doc("key", [&](mongo::Bson& key) { key.int32(field, 1); });
      index.text("name", name);
      if (expire_after_seconds >= 0) index.int32("expireAfterSeconds", expire_after_seconds);
      if (unique) index.flag("unique", true);
    });
  });
  d.doc("writeConcern", [](mongo::Bson& w) { w.text("w", "majority").int32("wtimeout", 8'000); });
  d.int32("maxTimeMS", 9'000);
  return std::string(d.bytes());
}

}  // namespace leasehold::published
