#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/history/history.hpp"

/// What the writes of lock documents, in the oplog's order, mean for the lock. If processes queue
/// in the document, some writes mean nothing for it, and free locks have documents.
namespace leasehold::sim {

class LockTruth {
 public:
  enum class Became { held, free, nothing };

  /// By `_id`. The lockId as it stands; `free`: the document is in force since 1970 no more, as a
  /// release leaves it that offers the lock, or finds no owner waiting.
  [[nodiscard]] Became written(const std::string& id, const std::string& lock_id, bool free);
  [[nodiscard]] Became deleted(const std::string& id);

  /// Owners that join and leave the lock's queue by a write; the lockId as it stands, empty:
  /// deleted. `place` events without a time; entries are the same if their owners are.
  [[nodiscard]] model::History queued(const std::string& id, const std::string& name,
                                      std::string_view lock_id, std::int64_t order);

  /// The holder's part, without the queue behind it.
  [[nodiscard]] static std::string holder_in(std::string_view lock_id);

 private:
  struct Lock {
    std::string lock_id;
    bool free = false;  ///< although there is a document
  };
  /// The owner that waits, and until when the entry is good, in ms since 1970.
  struct Entry {
    std::string lock_id;
    std::int64_t until_ms = 0;
  };
  using Queue = std::vector<Entry>;
  static Queue queue_in(std::string_view lock_id);
  static std::set<std::string> kept_places(const Queue& before, const Queue& now);

  std::map<std::string, Lock> locks_;
  std::map<std::string, Queue> queues_;  ///< those with waiting owners
};

}  // namespace leasehold::sim
