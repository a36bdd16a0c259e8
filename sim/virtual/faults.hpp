#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/virtual/process.hpp"

namespace leasehold::sim::simulated {

/// Brings a plan's faults about in the virtual world, and takes them away again.
///
/// A fault is counted in `took_effect` only once it did something, so that a run whose faults all
/// missed proves nothing.
///
/// Determinism: nothing is drawn here. What a fault hits follows from the plan and the state of the
/// run alone.
class Faults {
 public:
  /// REQUIRES: all of it outlives the queue's events. `processes` may grow while faults go on.
  struct World {
    const Plan& plan;
    EventQueue& queue;
    ReplicaSet& servers;
    FaultCounts& took_effect;
    // By pointer each: they stay where they are when another is added.
    const std::vector<std::unique_ptr<Process>>& processes;
    // Into the history. What is written there is what the checkers excuse by.
    std::function<void(const model::Event&)> emit;
    std::function<void(const std::string& name, const ProcessPlan& plan)> start_anew;
  };

  explicit Faults(World world) : world_(std::move(world)) {}

  void inject(const FaultPlan& fault);
  /// Kills the process that was started to die with its lock.
  void kill_doomed();
  /// Ends all faults; none begins after this.
  ///
  /// A fault whose own end is still to come is undone here, and its later event finds nothing to
  /// do.
  void heal();

 private:
  // Null: nobody runs that could be hit; the fault then passes without effect or event.
  [[nodiscard]] Process* victim(const FaultPlan& fault);
  [[nodiscard]] int member_of(const FaultPlan& fault) const;
  // An event of the history; `amount` in the unit of the fault's kind.
  void note(const FaultPlan& fault, const std::string& hit, const char* outcome,
            std::int64_t amount);
  void undo_later(std::int64_t after_ms, std::function<void()> undo);
  void undo_now(std::size_t number);
  /// `begin` is called at once; so it may refer to the caller's locals, and `end` may not.
  void for_a_while(const FaultPlan& fault, const std::string& hit,
                   const std::function<void()>& begin, std::function<void()> end);
  void crash(Process& p);
  void crash_one(const FaultPlan& fault);
  void pause(const FaultPlan& fault);
  void move_wall_clock(const FaultPlan& fault);
  void elect(const FaultPlan& fault);
  void take_members(const FaultPlan& fault);
  void disturb_index(const FaultPlan& fault);
  void administer(const FaultPlan& fault);
  void split(const FaultPlan& fault);
  void move_clock(const FaultPlan& fault);
  void disturb_set(const FaultPlan& fault);
  void disturb_link(const FaultPlan& fault);
  void count_effect(FaultPlan::Kind kind) { ++world_.took_effect[to_string(kind)]; }

  const World world_;
  // INVARIANT: by the number of the fault; null once undone, so nothing is undone twice.
  std::vector<std::function<void()>> healers_;
  // In ms, by the jumps so far: a jump to where the clock is already has no effect to count.
  std::array<std::int64_t, ReplicaSet::kMembers> clock_offsets_{};
  // INVARIANT: all of them by one fault, so the plan's kinds decide how many may be away at once.
  int members_away_ = 0;
  bool healed_ = false, index_disturbed_ = false;
};

}  // namespace leasehold::sim::simulated
