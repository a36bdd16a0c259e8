#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "model/history/history.hpp"
#include "sim/live/oplog/document_truth.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// An oplog entry that was read: its time, and a hash of all that it says.
struct SeenEntry {
  std::int64_t order = 0;
  std::size_t hash = 0;
  bool operator==(const SeenEntry&) const = default;
};

/// Entries of `seen` that `again` lacks, as far back as `oldest` reaches. Both are ordered by time.
[[nodiscard]] std::vector<SeenEntry> vanished(const std::vector<SeenEntry>& seen,
                                              const std::vector<SeenEntry>& again,
                                              std::int64_t oldest);

/// The server's truth: follows the oplog, as far as a majority has it, on a connection of its own.
/// Turns each write to the lock collection and to the fenced resource into an event.
///
/// Thread safety: `take` from any thread.
class OplogReader {
 public:
  /// The client name that servers see.
  static constexpr const char* kClientName = "oplog-reader";

  struct Source {
    std::string uri;
    std::string database;
    std::string lock_collection;
    std::string resource_collection;
    /// How to read its documents. For a lock that is not ours it also makes heartbeat writes
    /// to the database, which show of each later write that it was made after them.
    DocumentTruth documents = {};
  };
  /// Follows the database from now on. `now_ns` is the harness's clock.
  OplogReader(Source source, std::function<std::int64_t()> now_ns);
  ~OplogReader();

  /// The events since the last call.
  [[nodiscard]] model::History take();

  /// Waits until everything that was written before this call has been read. False: it was not
  /// within 30 s.
  [[nodiscard]] bool catch_up();

  /// Ends the following, and reads all entries once more, because what a majority had must still be
  /// there. Returns `reread` events; `take` has what came before.
  [[nodiscard]] model::History read_again();

 private:
  /// Entries of our namespaces after this time, as far as a majority has them.
  [[nodiscard]] Json entries_after(const Json& timestamp);
  [[nodiscard]] std::int64_t oldest_entry();
  void follow();
  bool read_batch();
  void mark();
  [[nodiscard]] std::int64_t marked_before(std::int64_t order) const;
  void read_entry(const Json& entry, const Json& when);
  void read_resource(const Json& entry, std::int64_t order);
  void emit(model::Event event);

  const std::string database_;
  const std::string lock_namespace_;
  const std::string resource_namespace_;
  const std::function<std::int64_t()> now_ns_;
  MongoClient client_;
  Json first_, last_;            ///< timestamps: where reading began, and of the last entry read
  std::vector<SeenEntry> seen_;  ///< of the following thread, while it runs
  DocumentTruth documents_;
  std::map<std::int64_t, std::int64_t> marks_;  ///< times of heartbeat writes, by order
  std::map<std::string, Json> resources_;

  std::mutex mutex_;
  model::History events_;  ///< protected by mutex_
  std::atomic<std::int64_t> rounds_ = 0;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

/// Parts of oplog entries, which come as extended JSON.
[[nodiscard]] std::string text_in(const Json& document, const char* key);

/// The document's id in an insert, update or delete.
[[nodiscard]] const Json& id_in(const Json& entry);

/// The document that an entry leaves in `documents`, or null if it deletes it.
const Json* apply(std::map<std::string, Json>& documents, const Json& entry,
                  const std::string& key);

/// The documents of the published locks do not say which command wrote them: "distributed-lock"
/// shows a GUID, which stays the same over extensions, others show nothing. Gives every `put` the
/// lock_id of the command that wrote it: by the time of an acknowledged write, else the first
/// command of that GUID, or of that lock, that was not answered. A write that fits none stays as it
/// is.
void attribute_writes(model::History& history);

}  // namespace leasehold::sim::live
