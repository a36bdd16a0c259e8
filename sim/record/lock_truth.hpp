#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/history/history.hpp"

/// What the writes of lock documents, in the oplog's order, mean for the lock. If processes queue
/// in the document, some writes mean nothing for it, and free locks have documents.
namespace leasehold::sim {

/// A document of a lock after a write, in whichever form a world has it.
struct LockDocument {
  std::string lock_id = {};   ///< empty: it has none
  bool of_nobody = false;     ///< an entity whose LockId is null, so it is free ("document-level")
  std::string command = {};   ///< that wrote it, if a published lock did: its documents name none
  std::int64_t acquired_at_ms = 0;
  /// 0: in force since 1970 no more, as a release leaves it that offers the lock, or finds no owner
  /// waiting.
  std::optional<std::int64_t> expires_at_ms = {};
  std::int64_t stored_token = 0;
};

/// A write to the fenced resource of a lock: refused when its token is below the greatest taken. Or
/// a read: refused when its token is below the greatest that wrote.
struct FencedWrite {
  std::string name, process, owner;
  std::int64_t number = 0;  ///< of this write, in its process
  std::int64_t token = 0;
  bool reads = false;
};
/// The two numbers that the resource keeps.
struct Fence {
  std::int64_t seen = 0, wrote = 0;  ///< the greatest token taken; that wrote
  /// Whether it takes this; then it is noted, in the same step.
  bool take(const FencedWrite& write) {
    if (write.token < (write.reads ? wrote : seen)) return false;
    seen = std::max(seen, write.token);
    if (!write.reads) wrote = write.token;
    return true;
  }
};
/// The event of one that was taken, at this place in the resource's order.
[[nodiscard]] model::Event stored(const FencedWrite& write, std::int64_t order, std::int64_t at_ns);

class LockTruth {
 public:
  /// What a write of the document with this `_id` did, as events without a time: `place` for each
  /// owner that joined or left the lock's queue, then `put` or `gone`. Null: it was deleted. All
  /// writes have to come, in their order.
  [[nodiscard]] model::History written(const std::string& id, const std::string& name,
                                       const LockDocument* document, std::int64_t order);

  /// The holder's part, without the queue behind it.
  [[nodiscard]] static std::string holder_in(std::string_view lock_id);

 private:
  enum class Became { held, free, nothing };
  [[nodiscard]] Became became(const std::string& id, const LockDocument* document);
  /// Entries are the same if their owners are.
  [[nodiscard]] model::History queued(const std::string& id, const std::string& name,
                                      std::string_view lock_id, std::int64_t order);

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
