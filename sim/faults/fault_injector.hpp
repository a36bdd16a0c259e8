#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/release/forced_release.hpp"
#include "sim/faults/cluster_control.hpp"
#include "sim/faults/lasting_faults.hpp"

namespace leasehold::sim {

/// The links of a run that faults disturb: which links a member or a process has, what all faults
/// together ask of each, and whether a rule affected anything that a link carried.
///
/// INVARIANT: the world has for each link what `LinkRules` says of it. That is all rules at once,
/// so that the end of one fault leaves the others.
///
/// REQUIRES: the run reaches links of its servers; the cluster outlives it.
class DisturbedLinks {
 public:
  explicit DisturbedLinks(const ClusterControl& cluster) : cluster_(cluster) {}

  /// All links between this member and its peers.
  [[nodiscard]] Links of_member(int member) const;
  /// Links by which this member fetches what the others have.
  [[nodiscard]] Links of_fetching(int member) const;
  /// Links by which members replicate.
  [[nodiscard]] Links of_replication() const;
  [[nodiscard]] Links of_process(const std::string& process) const;

  /// How often rules affected what these carry.
  [[nodiscard]] std::int64_t touched(const Links& links) const;
  void disturb(LinkRules::Owner by, const Links& links, const LinkRule& rule);
  /// Ends what this owner asked for. `resets`: what waited is lost.
  void leave(LinkRules::Owner by, bool resets);

 private:
  [[nodiscard]] int size() const { return cluster_.servers->links.size(); }

  const ClusterControl& cluster_;
  LinkRules rules_;
};

/// Brings a plan's faults about, in either world, and ends them: it decides what a fault hits, what
/// it does, and which faults may overlap. `LastingFaults` decides how faults last, `DisturbedLinks`
/// what links carry.
///
/// A fault is counted only once it did something, so that a run proves nothing if all its faults
/// missed.
///
/// Determinism: nothing is drawn here. What a fault hits follows from the plan and the state of the
/// run alone.
///
/// Not thread-safe. REQUIRES: it outlives what it asked `call_at` for.
class FaultInjector {
 public:
  FaultInjector(ClusterControl cluster, std::int64_t clock_margin_ms)
      : cluster_(std::move(cluster)), clock_margin_ms_(clock_margin_ms) {}
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  /// Throws when a server in trouble does not answer. Then the fault has no effect, or a part of it
  /// until its time is over.
  void inject(const FaultPlan& fault);
  /// This process, by its place in the plan, sends a command, which histories call `verb`, or gets
  /// the reply to one. Faults that wait for it begin after the present event; without this call
  /// they never begin.
  void saw_command(std::int64_t place, const std::string& verb, bool is_reply);
  [[nodiscard]] bool awaits_a_command() const { return !waiting_.empty(); }
  /// Returns how many faults began at a command.
  [[nodiscard]] std::int64_t begun_at_commands() const { return begun_at_commands_; }
  /// Ends all faults; none begins after this. Throws the error of what did not end.
  void heal();

 private:
  using Id = LastingFaults::Id;

  // Nothing: no process runs that could be hit; the fault then passes without effect or event.
  [[nodiscard]] std::optional<ProcessView> victim(const FaultPlan& fault);
  [[nodiscard]] int member_of(const FaultPlan& fault);
  [[nodiscard]] int successor(const FaultPlan& fault, int primary);

  void inject_into_servers(const FaultPlan& fault);
  void crash(const FaultPlan& fault);
  void pause(const FaultPlan& fault);
  void move_wall_clock(const FaultPlan& fault);
  void elect(const FaultPlan& fault);
  void take_members(const FaultPlan& fault);
  void disturb_index(const FaultPlan& fault);
  void administer(const FaultPlan& fault);
  void force_release(const FaultPlan& fault);
  void take_by_force(const FaultPlan& fault, const core::Reply& seen);
  void free_after_its_wait(const core::ForcedRelease& force);
  void split(const FaultPlan& fault);
  void move_clock(const FaultPlan& fault);
  void stop_ttl(const FaultPlan& fault);
  void slow_majority(const FaultPlan& fault);
  void refuse_sync(const FaultPlan& fault);
  void fail_commands(const FaultPlan& fault);
  void hold_inside(const FaultPlan& fault);
  void disturb_link(const FaultPlan& fault);

  const ClusterControl cluster_;
  const std::int64_t clock_margin_ms_;
  std::vector<FaultPlan> waiting_;  ///< for a command; `nth` counts down
  std::int64_t begun_at_commands_ = 0;
  std::uint64_t forced_ = 0;  ///< each of its owners is another
  LastingFaults lasting_{cluster_};
  DisturbedLinks links_{cluster_};
  // What only one fault can have at a time belongs to the last that began; only its end ends it.
  Id failing_ = 0;                         ///< the fault that makes commands fail
  std::map<int, Id> clocks_;               ///< the fault that moved this member's last
  std::map<std::string, Id> wall_clocks_;  ///< and this process's
  int ttl_off_ = 0;                        ///< how many have the monitor off
  // INVARIANT: all by one fault, so the plan's kinds decide how many may be away at once.
  bool members_away_ = false;
  bool lost_data_ = false, index_disturbed_ = false, healed_ = false;
  std::optional<std::int64_t> ttl_seconds_;  ///< of the index, before it was first disturbed
};

}  // namespace leasehold::sim
