#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/virtual/process.hpp"

namespace leasehold::sim::simulated {

/// Brings a plan's faults about in the virtual world, and takes them away again.
class Faults {
 public:
  struct World {
    const Plan& plan;
    EventQueue& queue;
    ReplicaSet& servers;
    FaultCounts& took_effect;
    const std::vector<std::unique_ptr<Process>>& processes;
    std::function<void(const model::Event&)> emit;
    std::function<void(const std::string& name, const ProcessPlan& plan)> start_anew;
  };

  explicit Faults(World world) : world_(std::move(world)) {}

  void inject(const FaultPlan& fault);
  /// Kills the process that was started to die with its lock.
  void kill_doomed();
  /// Ends all faults; none begins after this.
  void heal();

 private:
  [[nodiscard]] Process* victim(const FaultPlan& fault);
  [[nodiscard]] int member_of(const FaultPlan& fault) const;
  void note(const FaultPlan& fault, const std::string& hit, const char* outcome,
            std::int64_t amount);
  void undo_later(std::int64_t after_ms, std::function<void()> undo);
  void undo_now(std::size_t number);
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
  std::vector<std::function<void()>> healers_;
  std::array<std::int64_t, ReplicaSet::kMembers> clock_offsets_{};
  int members_away_ = 0;
  bool healed_ = false, index_disturbed_ = false;
};

}  // namespace leasehold::sim::simulated
