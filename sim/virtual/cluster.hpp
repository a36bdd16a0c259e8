#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
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
  /// As a client sees it that reaches this member alone: after a split two may say that they are.
  [[nodiscard]] bool is_primary(int member) override {
    PerMember<bool> alone{};
    alone[member] = true;
    return servers_.serving().primary_for(alone) == member;
  }
  [[nodiscard]] bool reachable(int) override { return true; }
  /// The election is over when this returns, so the limit, which is for a real set, has no meaning.
  bool step_up(int member, std::chrono::milliseconds) override {
    const int before = servers_.primary();
    servers_.serving().step_up(member);
    return servers_.primary() != before;
  }
  /// By the manual on replSetStepDown, by force: without a successor that has caught up.
  bool step_down() override {
    const bool there = servers_.primary() >= 0;
    servers_.serving().step_down_primary();
    return there;
  }
  void kill(const std::vector<int>& members) override { each(members, &ReplicaSet::kill); }
  void restart(const std::vector<int>& members) override { each(members, &ReplicaSet::restart); }
  void wipe(int member) override { servers_.all(&ReplicaSet::wipe, member); }
  void stop(const std::vector<int>& members) override { each(members, &ReplicaSet::stop); }
  void resume(const std::vector<int>& members) override { each(members, &ReplicaSet::go_on); }
  [[nodiscard]] bool all_have_all_data() override { return !servers_.copies(); }
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override {
    servers_.all(&ReplicaSet::set_clock, member, ahead_ms, rate_ppm);
  }
  /// Its drift so far is part of it.
  [[nodiscard]] std::int64_t clock_ahead_ms(int member) override {
    return servers_.serving().clock_ms(member) - ServerSettings{}.epoch_ms - queue_.now() / kMs;
  }
  [[nodiscard]] bool shows_its_clock(int) override { return true; }
  void settle() override {}  // there is time between the end of the faults and the healed phase

  /// As the server parameter `ttlMonitorEnabled` on each of them.
  void set_ttl_monitor(bool on) override {
    for (int m = 0; m < kMembers; ++m) servers_.all(&ReplicaSet::set_ttl_monitor, m, on);
  }
  [[nodiscard]] std::int64_t ttl_passes() override { return 0; }  // off is off, here
  /// Remembers the index that it saw first, for what is dropped cannot be asked any more.
  [[nodiscard]] std::optional<std::int64_t> ttl_seconds() override {
    const auto found = servers_.serving().ttl_index();
    if (!ttl_index_) ttl_index_ = found;
    return found ? std::optional(found->after_s) : std::nullopt;
  }
  /// On the field of the index that was seen first: what was dropped comes back as it was.
  void set_ttl_seconds(std::optional<std::int64_t> seconds) override {
    auto index = ttl_index_;
    if (seconds) {
      index->after_s = *seconds;
    } else {
      index.reset();
    }
    servers_.serving().set_ttl_index(index);
  }

  bool drop_locks() override { return !servers_.moves() && servers_.serving().drop_locks(); }
  std::string delete_lock(std::int64_t pick) override {
    return servers_.moves() ? "" : servers_.serving().delete_lock(pick);
  }
  [[nodiscard]] std::vector<std::string> held_locks() override {
    return servers_.serving().held_locks();
  }
  /// On a link that no fault befalls, and without a way.
  void ask(const core::Command& command, Answered answered) override {
    const int primary = servers_.primary();
    if (primary < 0) return;
    const auto bytes = mongo::build(command, kCollection);
    servers_.command(
        primary, {std::make_shared<const Object>(to_object(*bytes.get()))},
        [command, answered = std::move(answered)](ServerAnswer answer, const Object& reply) {
          if (answer != ServerAnswer::reply) return;
          answered(mongo::read_reply(command, *Bytes(reply).get()));
        });
  }

  /// As the fail point failCommand; how often it struck is counted from here.
  void fail_next(std::int64_t count, int code, bool executed) override {
    errors_before_ = servers_.injected_errors();
    servers_.fail_next(static_cast<int>(count), code, executed);
  }
  std::int64_t stop_failing() override {
    servers_.fail_next(0, 0, false);
    return servers_.injected_errors() - errors_before_;
  }
  /// For each process on its own.
  /// Several may hold one process's commands at a time; the longest wait counts.
  [[nodiscard]] std::optional<Inside> hold_inside(const std::string& process, std::int64_t wait_ms,
                                                  std::int64_t for_ms) override {
    auto& link = link_of_(process);
    return Inside{process, for_ms, [&link, wait_ms] { link.inside_ms.insert(wait_ms); },
                  [&link, wait_ms, before = link.waited_inside] {
                    link.inside_ms.erase(link.inside_ms.find(wait_ms));
                    return link.waited_inside > before;
                  }};
  }

  [[nodiscard]] int sent_to() override { return std::max(servers_.primary(), 0); }
  /// A peer that is no member is a process, and its network obeys the rule itself. Of members the
  /// link by which they replicate may be late or refuse, and the other may be down.
  void set_link_rule(const Link& link, const LinkRule& rule) override {
    const int from = member_of(link.peer), to = link.member;
    if (from < 0) {
      link_of_(link.peer).rules[to] = rule;
    } else if (link.peer.ends_with("/sync")) {
      const std::int64_t delay_ns = rule.delay_replies.count() * kMs;
      servers_.all(&ReplicaSet::set_replication_delay, from, delay_ns);
      if (rule.refuse) servers_.all(&ReplicaSet::fail_fetch, from, to);
    } else {
      // The set knows a link as up or down. One direction that is held back is enough.
      const bool was_up = is_up(from, to);
      held_[from][to] = rule.hold_requests;
      if (is_up(from, to) != was_up) servers_.all(&ReplicaSet::set_link, to, from, !was_up);
    }
  }

  void reset_link(const Link&) override {}  // what is held never arrives, here
  [[nodiscard]] std::int64_t touched(const Link& link) override {
    // Members beat all the time. So a link that was down for longer than a beat was felt.
    if (member_of(link.peer) >= 0) return queue_.now() / ServerSettings{}.heartbeat_ns;
    return link_of_(link.peer).touched[link.member];
  }

 private:
  void each(const std::vector<int>& members, void (ReplicaSet::*act)(int)) {
    for (const int m : members) servers_.all(act, m);
  }
  [[nodiscard]] bool is_up(int a, int b) const { return !held_[a][b] && !held_[b][a]; }
  /// 1 for the peer "member-1/sync"; -1 for a process.
  static int member_of(const std::string& peer) {
    for (int m = 0; m < kMembers; ++m) {
      if (peer.starts_with(member_name(m) + "/")) return m;
    }
    return -1;
  }

  EventQueue& queue_;
  Shards& servers_;
  const std::function<LinkFaults&(const std::string& process)> link_of_;
  std::optional<TtlIndex> ttl_index_;  ///< as it was first seen
  // When the last fault of that kind began: it took the place of any before it.
  std::int64_t errors_before_ = 0;
  PerMember<PerMember<bool>> held_{};  ///< by sender and receiver
};

}  // namespace leasehold::sim::simulated
