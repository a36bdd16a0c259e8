#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster_control.hpp"

namespace leasehold::sim {

/// Brings a plan's faults about, in either world, and takes them away again: whom a fault hits, how
/// long it lasts, what the history says of it, and whether it took effect.
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

  /// Throws when a server in trouble has no answer; then the fault has no effect, or a part of it
  /// until its time is over.
  void inject(const FaultPlan& fault);
  /// Ends all faults; none begins after this. Throws what stands in the way.
  void heal();

 private:
  using Id = LinkRules::Owner;
  using Begin = std::function<void(Id)>;
  using End = std::function<bool(Id)>;  ///< whether the fault is proved to have taken effect
  struct Lasting {
    FaultPlan fault;
    std::vector<std::string> hit;  ///< of whom the history says that it begins and ends
    End end;
    std::string complaint = "not tried yet";  ///< why it did not end
  };

  // Nothing: nobody runs that could be hit; the fault then passes without effect or event.
  [[nodiscard]] std::optional<ProcessView> victim(const FaultPlan& fault);
  [[nodiscard]] int member_of(const FaultPlan& fault);
  [[nodiscard]] int successor(const FaultPlan& fault, int primary);
  enum class FaultPart { whole, begins, ends };
  // An event of the history; `amount` in the unit of the fault's kind.
  void note(const FaultPlan& fault, const std::string& hit, FaultPart part, std::int64_t amount,
            std::int64_t at_ns);
  void note_now(const FaultPlan& fault, const std::string& hit, std::int64_t amount);
  void count(const FaultPlan& fault) { cluster_.count_effect(fault.kind); }
  /// `begin` is called at once; so it may refer to the caller's locals, and `end` may not. `end` is
  /// called again if it threw.
  void for_a_while(const FaultPlan& fault, std::vector<std::string> hit, std::int64_t for_ms,
                   const Begin& begin, End end);
  void end(Id id);
  [[nodiscard]] bool try_to_end(Id id);
  void end_all(const std::function<bool(FaultPlan::Kind)>& wanted);

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
  void fail_commands(const FaultPlan& fault);
  void hold_inside(const FaultPlan& fault);
  void disturb_link(const FaultPlan& fault);

  [[nodiscard]] Links links_of_member(int member);
  [[nodiscard]] Links sync_links();
  [[nodiscard]] Links links_of_process(const std::string& process);
  [[nodiscard]] std::int64_t touched(const Links& links);
  void set_rule(Id id, const Links& links, const LinkRule& rule);
  /// `reset`: what waited is lost.
  void lift_rule(Id id, bool reset);

  const ClusterControl cluster_;
  const std::int64_t clock_margin_ms_;
  std::map<Id, Lasting> lasting_;
  Id last_ = 0;
  LinkRules rules_;
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
