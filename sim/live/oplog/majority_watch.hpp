#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "model/history/history.hpp"
#include "sim/live/oplog/commit_point.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// What a member's answer to `hello` says. A primary that has just begun may not know yet what a
/// majority has: then this throws, and such an answer counts as none.
[[nodiscard]] MemberAnswer answer_in(const Json& hello);

/// Measures when a replica set had no majority: asks its members themselves, past all proxies.
///
/// Thread safety: all but the destructor from any thread.
class MajorityWatch {
 public:
  /// Watches from now on: each of these URIs is of one member, or of the whole set. `now_ns` is the
  /// harness's clock.
  MajorityWatch(const std::vector<std::string>& uris, std::function<std::int64_t()> now_ns);
  ~MajorityWatch();
  MajorityWatch(const MajorityWatch&) = delete;
  MajorityWatch& operator=(const MajorityWatch&) = delete;

  /// `no-majority` events of all spans so far; of one that is not over, until now.
  [[nodiscard]] model::History events() const;
  [[nodiscard]] bool follows() const;

 private:
  void watch(const std::stop_token& stop, MongoClient& client);

  const std::function<std::int64_t()> now_ns_;
  mutable std::mutex mutex_;
  CommitPoint commit_point_;  ///< protected by mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace leasehold::sim::live
