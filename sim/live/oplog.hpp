#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "model/history.hpp"
#include "sim/live/mongo_client.hpp"

namespace leasehold::sim::live {

/// The server's truth: follows the oplog, as far as a majority has it, on a connection of its own,
/// and turns every write to the lock collection and to the fenced resource into an event.
///
/// Thread safety: `take` from any thread.
class OplogReader {
 public:
  /// Follows `database` from now on. `now_ns` is the harness's clock.
  OplogReader(const std::string& uri, std::string database, std::string lock_collection,
              std::string resource_collection, std::function<std::int64_t()> now_ns);
  ~OplogReader();

  /// The events since the last call.
  [[nodiscard]] model::History take();

  /// Waits until everything that was written before this call has been read.
  void catch_up();

 private:
  void follow();
  bool read_batch();
  void read_entry(const Json& entry, const Json& timestamp);
  void read_lock(const Json& entry, std::int64_t order);
  void read_resource(const Json& entry, std::int64_t order);
  void emit(model::Event event);

  const std::string database_;
  const std::string lock_namespace_;
  const std::string resource_namespace_;
  const std::function<std::int64_t()> now_ns_;
  MongoClient client_;
  Json last_;                          ///< timestamp of the last entry read
  std::map<std::string, Json> locks_;  ///< documents as the entries left them
  std::map<std::string, Json> resources_;

  std::mutex mutex_;
  model::History events_;  ///< protected by mutex_
  std::atomic<std::int64_t> rounds_ = 0;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace leasehold::sim::live
