#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/history/history.hpp"
#include "model/workers/promises.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/record/lock_truth.hpp"

namespace leasehold::sim::live {

/// Translates writes of a lock's documents into `place`, `put` and `gone`: of ours and of the
/// published locks as `LockTruth` says, of another by the fields that its author named. Such a lock
/// is free if its document is gone, names no owner, or was written with a date that had passed by
/// the primary's clock.
class DocumentTruth {
 public:
  DocumentTruth() = default;
  /// `of_lock_ids`: the owner's field is the production lock's, which names more than the owner.
  explicit DocumentTruth(model::DocumentMapping mapping, bool of_lock_ids = false)
      : mapping_(std::move(mapping)), of_lock_ids_(of_lock_ids) {}

  [[nodiscard]] bool of_another_lock() const { return mapping_.has_value(); }

  /// The events of an insert, update or delete in the collection, without `at_ns`. `when` is the
  /// entry that has `ts` and `wall`: itself, or that of its transaction.
  model::History read(const Json& entry, const Json& when);

  /// The events of a drop of the collection: one for each document that was there.
  model::History drop(const Json& when);

 private:
  struct Seen {
    std::string name, owner;
    std::int64_t expires_at_ms = 0;
    bool held = false;
  };
  [[nodiscard]] Seen seen_in(const Json& document, std::int64_t wall_ms) const;
  /// `known`: the document, or the one that is gone now.
  model::History became(const std::string& key, const Json& known, bool gone, const Json& when);

  std::optional<model::DocumentMapping> mapping_;
  bool of_lock_ids_ = false;
  std::map<std::string, Json> documents_;  ///< by `_id`
  LockTruth truth_;
  std::map<std::string, Seen> seen_;  ///< of another lock
};

}  // namespace leasehold::sim::live
