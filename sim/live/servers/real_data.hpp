#pragma once

#include <string>
#include <utility>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace leasehold::sim::live {

/// Collections that faults hit, each with its database.
struct FaultyCollections {
  std::string administered;  ///< its documents and its index are deleted and changed
  std::string failing;       ///< writes to it get errors
};

/// What faults do with the documents and commands of a replica set of ours, as its administrator.
/// Not thread-safe. A call returns within some seconds, whatever state the servers are in.
class RealData final : public DataControl {
 public:
  RealData(ReplicaSet& members, FaultyCollections hit)
      : members_(members), locks_(std::move(hit.administered)), failing_at_(hit.failing) {}

  void set_ttl_monitor(bool on) override { members_.set_ttl_monitor(on); }
  [[nodiscard]] std::int64_t ttl_passes() override;
  [[nodiscard]] std::optional<std::int64_t> ttl_seconds() override;
  void set_ttl_seconds(std::optional<std::int64_t> seconds) override;
  bool drop_locks() override;
  std::string delete_lock(std::int64_t pick) override;
  [[nodiscard]] std::vector<std::string> held_locks() override;
  void ask(const core::Command& command, Answered answered) override;
  /// At the primary of now.
  void fail_next(std::int64_t count, int code, bool executed) override;
  std::int64_t stop_failing() override;
  /// At the present primary, for all processes.
  [[nodiscard]] std::optional<Inside> hold_inside(const std::string& process, std::int64_t wait_ms,
                                                  std::int64_t for_ms) override;

 private:
  [[nodiscard]] std::string database() const { return locks_.substr(0, locks_.find('.')); }
  [[nodiscard]] std::string collection() const { return locks_.substr(locks_.find('.') + 1); }
  [[nodiscard]] MongoClient& primary_client();
  Json administer(Json command);
  [[nodiscard]] Json ttl_index();
  /// Returns how often it was entered; 0 if the member lost its fail points.
  std::int64_t end_fail_point(int member, const std::string& name);

  ReplicaSet& members_;
  const std::string locks_;
  const std::string failing_at_;
  Json index_;        ///< the TTL index at first sight; null: never seen
  int failing_ = -1;  ///< the member with failing commands
};

}  // namespace leasehold::sim::live
