#pragma once

#include <string>
#include <utility>

#include "sim/cluster_control.hpp"
#include "sim/live/replica_set.hpp"

namespace leasehold::sim::live {

/// A real replica set of ours, as faults have it in hand: each change is made by the kernel, the
/// proxies, the clock shim or a command, and asked for again there.
///
/// Not thread-safe. A call returns within some seconds, whatever state the servers are in; `settle`
/// within minutes.
class RealMembers final : public MemberControl {
 public:
  explicit RealMembers(ReplicaSet& servers) : servers_(servers) {}

  [[nodiscard]] int size() override { return servers_.size(); }
  [[nodiscard]] int primary() override { return servers_.primary_now(); }
  [[nodiscard]] bool is_primary(int member) override { return servers_.is_primary(member); }
  [[nodiscard]] bool reachable(int member) override { return servers_.mongod(member).answers(); }
  bool step_up(int member, std::chrono::milliseconds limit) override;
  bool step_down() override { return servers_.step_down(); }
  void kill(const std::vector<int>& members) override;
  void restart(const std::vector<int>& members) override;
  void wipe(int member) override { servers_.mongod(member).wipe(); }
  void stop(const std::vector<int>& members) override;
  void resume(const std::vector<int>& members) override;
  [[nodiscard]] bool all_have_all_data() override;
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override;
  [[nodiscard]] std::int64_t clock_ahead_ms(int member) override;
  [[nodiscard]] bool shows_its_clock(int member) override;
  void settle() override;

 private:
  void wait_for_writes(const Json& w);
  void renew_secondaries();

  ReplicaSet& servers_;
};

/// Of one collection, by the commands that an administrator would send.
class RealData final : public DataControl {
 public:
  /// `locks`: database and collection.
  RealData(ReplicaSet& servers, std::string locks) : servers_(servers), locks_(std::move(locks)) {}

  void set_ttl_monitor(bool on) override;
  [[nodiscard]] std::int64_t ttl_passes() override;
  [[nodiscard]] std::optional<std::int64_t> ttl_seconds() override;
  void set_ttl_seconds(std::optional<std::int64_t> seconds) override;
  bool drop_locks() override;
  std::string delete_lock(std::int64_t pick) override;
  /// At the primary of now.
  void fail_next(std::int64_t count, int code, bool executed) override;
  std::int64_t stop_failing() override;
  /// At the primary of now, for all processes.
  [[nodiscard]] std::optional<Inside> hold_inside(const std::string& process, std::int64_t wait_ms,
                                                  std::int64_t for_ms) override;

 private:
  [[nodiscard]] std::string database() const { return locks_.substr(0, locks_.find('.')); }
  [[nodiscard]] std::string collection() const { return locks_.substr(locks_.find('.') + 1); }
  [[nodiscard]] MongoClient& primary_client();
  Json administer(Json command);
  [[nodiscard]] Json ttl_index();
  /// How often it was entered; 0 if the member's fail points are gone with it.
  std::int64_t end_fail_point(int member, const std::string& name);

  ReplicaSet& servers_;
  const std::string locks_;
  Json index_;        ///< the TTL index as it was first seen; null: never
  int failing_ = -1;  ///< the member whose commands fail
};

/// By the proxies before the members.
class RealLinks final : public LinkControl {
 public:
  explicit RealLinks(ReplicaSet& servers) : servers_(servers) {}

  void set_link_rule(const Link& link, const LinkRule& rule) override;
  void reset_link(const Link& link) override;
  [[nodiscard]] std::int64_t touched(const Link& link) override;

 private:
  ReplicaSet& servers_;
};

/// The set, from all its sides.
class RealServers {
 public:
  /// `locks`: database and collection. REQUIRES: `servers` is faulty.
  RealServers(ReplicaSet& servers, std::string locks)
      : members_(servers), data_(servers, std::move(locks)), links_(servers) {}
  [[nodiscard]] ServerControl control() { return {members_, data_, links_}; }

 private:
  RealMembers members_;
  RealData data_;
  RealLinks links_;
};

}  // namespace leasehold::sim::live
