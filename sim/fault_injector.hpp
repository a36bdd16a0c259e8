#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/disturbed_links.hpp"
#include "sim/lasting_faults.hpp"

namespace leasehold::sim {

/// Brings a plan's faults about, in either world, and takes them away again: it decides whom a
/// fault hits, what it does to them, and what of several faults there can be at once. How faults
/// last is `LastingFaults`' part, what links carry that of `DisturbedLinks`.
///
/// A fault is counted only once it did something, so that a run whose faults all missed proves
/// nothing.
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

  /// Throws when a server in trouble has no answer; then the fault has no effect, or a part of it
  /// until its time is over.
  void inject(const FaultPlan& fault);
  /// This process, by its place in the plan, sends a command, which histories call `verb`: what
  /// waits for that begins after the event of now. Not called, it never does.
  void saw_send(std::int64_t place, const std::string& verb);
  [[nodiscard]] bool awaits_a_command() const { return !waiting_.empty(); }
  /// How many have begun at a command.
  [[nodiscard]] std::int64_t begun_at_commands() const { return begun_at_commands_; }
  /// Ends all faults; none begins after this. Throws what stands in the way.
  void heal();

 private:
  using Id = LastingFaults::Id;

  // Nothing: nobody runs that could be hit; the fault then passes without effect or event.
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
  LastingFaults lasting_{cluster_};
  DisturbedLinks links_{cluster_};
  // Of what only one can have at a time, the last to begin has it, and its end alone ends it.
  Id failing_ = 0;                         ///< whose commands fail
  std::map<int, Id> clocks_;               ///< who moved this member's last
  std::map<std::string, Id> wall_clocks_;  ///< and this process's
  int ttl_off_ = 0;                        ///< how many have the monitor off
  // INVARIANT: all of them by one fault, so the plan's kinds decide how many may be away at once.
  bool members_away_ = false;
  bool lost_data_ = false, index_disturbed_ = false, healed_ = false;
  std::optional<std::int64_t> ttl_seconds_;  ///< of the index, before it was first disturbed
};

}  // namespace leasehold::sim
