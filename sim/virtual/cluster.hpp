#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/faults/cluster_control.hpp"
#include "sim/virtual/network.hpp"

/// The virtual servers' side of fault injection.
namespace leasehold::sim::simulated {

/// A process's place in the plan, by its name, "p3": each successor has one more ' in its own.
[[nodiscard]] inline std::int64_t place_of(const std::string& name) {
  return std::stoll(name.substr(1));
}

/// The three sides of the simulated set. All orders arrive at once, whatever state a member is in,
/// and commands of an administrator are answered before anything else happens.
///
/// A link of the set is up while neither direction is held: a heartbeat is a question and its
/// answer. Of processes' links the rules are the network's, which loses and delays by them; of
/// members' links the set knows only up, down and how late.
class SimulatedServers final : public MemberControl, public DataControl, public LinkControl {
 public:
  /// `link_of`: the links of that process, which was started and may be dead.
  SimulatedServers(EventQueue& queue, Shards& servers,
                   std::function<LinkFaults&(const std::string& process)> link_of)
      : queue_(queue), servers_(servers), link_of_(std::move(link_of)) {}
  [[nodiscard]] ServerControl control() { return {*this, this, this}; }

  [[nodiscard]] int size() override { return kMembers; }
  [[nodiscard]] int primary_now() override { return servers_.primary(); }
  [[nodiscard]] bool is_primary(int member) override;
  [[nodiscard]] bool reachable(int) override { return true; }
  bool step_up(int member, std::chrono::milliseconds limit) override;
  bool step_down() override;
  void kill(const std::vector<int>& members) override { each(members, &ReplicaSet::kill); }
  void restart(const std::vector<int>& members) override { each(members, &ReplicaSet::restart); }
  void wipe(int member) override { servers_.all(&ReplicaSet::wipe, member); }
  void stop(const std::vector<int>& members) override { each(members, &ReplicaSet::stop); }
  void resume(const std::vector<int>& members) override { each(members, &ReplicaSet::go_on); }
  [[nodiscard]] bool all_have_all_data() override { return !servers_.copies(); }
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override {
    servers_.all(&ReplicaSet::set_clock, member, ahead_ms, rate_ppm);
  }
  [[nodiscard]] std::int64_t clock_ahead_ms(int member) override;
  [[nodiscard]] bool shows_its_clock(int) override { return true; }
  void settle() override {}  // there is time between the end of the faults and the healed phase

  void set_ttl_monitor(bool on) override;
  [[nodiscard]] std::int64_t ttl_passes() override { return 0; }  // off is off, here
  [[nodiscard]] std::optional<std::int64_t> ttl_seconds() override;
  void set_ttl_seconds(std::optional<std::int64_t> seconds) override;
  bool drop_locks() override { return !servers_.moves() && servers_.serving().drop_locks(); }
  std::string delete_lock(std::int64_t pick) override {
    return servers_.moves() ? "" : servers_.serving().delete_lock(pick);
  }
  [[nodiscard]] std::vector<std::string> held_locks() override {
    return servers_.serving().held_locks();
  }
  /// On a link that no fault befalls, and without a way.
  void ask(const core::Command& command, Answered answered) override;
  void fail_next(std::int64_t count, int code, bool executed) override;
  std::int64_t stop_failing() override;
  /// For each process on its own.
  [[nodiscard]] std::optional<Inside> hold_inside(const std::string& process, std::int64_t wait_ms,
                                                  std::int64_t for_ms) override;

  [[nodiscard]] int sent_to() override { return std::max(servers_.primary(), 0); }
  void set_link_rule(const Link& link, const LinkRule& rule) override;
  void reset_link(const Link&) override {}  // what is held never arrives, here
  [[nodiscard]] std::int64_t touched(const Link& link) override;

 private:
  void each(const std::vector<int>& members, void (ReplicaSet::*act)(int)) {
    for (const int m : members) servers_.all(act, m);
  }
  [[nodiscard]] bool is_up(int a, int b) const { return !held_[a][b] && !held_[b][a]; }

  EventQueue& queue_;
  Shards& servers_;
  const std::function<LinkFaults&(const std::string& process)> link_of_;
  std::optional<TtlIndex> ttl_index_;  ///< as it was first seen
  // When the last fault of that kind began: it took the place of any before it.
  std::int64_t errors_before_ = 0;
  PerMember<PerMember<bool>> held_{};  ///< by sender and receiver
};

}  // namespace leasehold::sim::simulated
