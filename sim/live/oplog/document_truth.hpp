#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/history/history.hpp"
#include "model/workers/promises.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// Translates writes of a lock's documents into `put` and `gone`, for a lock that is not ours by
/// the fields that its author named. A lock is free if its document is gone, names no owner, or was
/// written with a date that had passed by the primary's clock.
class DocumentTruth {
 public:
  /// `of_lock_ids`: the owner's field is the production lock's, which names more than the owner.
  explicit DocumentTruth(model::DocumentMapping mapping, bool of_lock_ids = false)
      : mapping_(std::move(mapping)), of_lock_ids_(of_lock_ids) {}

  [[nodiscard]] const std::string& collection() const { return mapping_.collection; }

  /// The event of an insert, update or delete in the collection, without `at_ns`. Nothing: it
  /// changed nothing of a lock. `when` is the entry that has `ts` and `wall`: itself, or that of
  /// its transaction.
  std::optional<model::Event> read(const Json& entry, const Json& when);

  /// The events of a drop of the collection: one for each document that was there.
  model::History drop(const Json& when);

 private:
  struct Seen {
    std::string name, owner;
    std::int64_t expires_at_ms = 0;
    bool held = false;
  };
  [[nodiscard]] Seen seen_in(const Json& document, std::int64_t wall_ms) const;
  std::optional<model::Event> became(const std::string& key, const Json* document,
                                     const Json& when);

  const model::DocumentMapping mapping_;
  const bool of_lock_ids_;
  std::map<std::string, Json> documents_;  ///< by `_id`
  std::map<std::string, Seen> seen_;
};

}  // namespace leasehold::sim::live
