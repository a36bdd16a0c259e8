#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/virtual/value.hpp"

/// One collection of one member, and the commands of the lock on it: the very BSON that the adapter
/// sends, executed as mongod does. Pure: a command yields a reply and changes; applying them is the
/// member's.
namespace leasehold::sim::simulated {

using Document = std::shared_ptr<const Object>;  ///< null: there is none

struct Change {
  std::string id;
  Document after;
};

class Collection {
 public:
  [[nodiscard]] Document find(const std::string& id) const;
  void apply(const Change& change);
  [[nodiscard]] const std::map<std::string, Document>& documents() const { return documents_; }

 private:
  std::map<std::string, Document> documents_;
};

/// An entry of the oplog that changes no document.
[[nodiscard]] Change note_in_oplog();

/// What the member knows when the command starts.
struct Start {
  Date now;
  Timestamp cluster_time;
};

/// Documents go when `field` is this old.
struct TtlIndex {
  std::string field;
  std::int64_t after_s = 0;
};

struct Executed {
  Object reply;  ///< without the times, and without what the write concern adds
  std::vector<Change> changes;
  bool for_majority = false;     ///< its reply waits for a majority
  std::int64_t wtimeout_ms = 0;  ///< 0: for ever
  std::optional<TtlIndex> ttl;   ///< the command makes this index
};

/// Throws Unsupported for a command, field or operator that is not known. What the server would
/// answer with an error is a reply with ok: 0, or a write error.
[[nodiscard]] Executed execute(const Object& command, const Collection& collection,
                               const Start& start);

/// {ok: 0, code, errmsg}.
[[nodiscard]] Object error_reply(int code, const std::string& message);

/// A failed statement, for a reply's writeErrors.
void add_write_error(Array& errors, std::size_t index, int code, const std::string& message);

/// The documents that the TTL index gives free.
[[nodiscard]] std::vector<std::string> expired(const Collection& collection, const TtlIndex& index,
                                               Date now);

}  // namespace leasehold::sim::simulated
