#pragma once

#include <string>
#include <utility>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace leasehold::sim::live {

// What faults do to a real replica set of ours: the kernel, the clock shim, commands of an
// administrator, and the proxies before its members. Each change is asked for again at the servers.
//
// Not thread-safe. `settle` returns within minutes, all else within some seconds, whatever state
// the servers are in.

class RealMembers final : public MemberControl {
 public:
  /// `database`: where writes may be tried.
  RealMembers(ReplicaSet& servers, std::string database)
      : servers_(servers), database_(std::move(database)) {}

  [[nodiscard]] int size() override { return servers_.size(); }
  [[nodiscard]] int primary() override { return servers_.primary_now(); }
  [[nodiscard]] bool is_primary(int member) override { return servers_.is_primary(member); }
  [[nodiscard]] bool reachable(int member) override { return servers_.answers(member); }
  bool step_up(int member, std::chrono::milliseconds limit) override {
    return servers_.try_step_up(member, limit);
  }
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
  const std::string database_;
};

/// Collections that faults hit, each with its database.
struct FaultyCollections {
  std::string administered;  ///< its documents and its index are deleted and changed
  std::string failing;       ///< writes to it get errors
};

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

/// Acts by the proxies before the members. REQUIRES: there are some.
class ProxiedLinks final : public LinkControl {
 public:
  explicit ProxiedLinks(MemberSet& members) : members_(members) {}

  [[nodiscard]] int size() override { return members_.size(); }
  [[nodiscard]] int sent_to() override;
  void set_link_rule(const Link& link, const LinkRule& rule) override;
  void reset_link(const Link& link) override;
  [[nodiscard]] std::int64_t touched(const Link& link) override;

 private:
  MemberSet& members_;
};

}  // namespace leasehold::sim::live
