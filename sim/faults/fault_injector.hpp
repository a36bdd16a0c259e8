#pragma once

#include <memory>
#include <string>

#include "sim/faults/cluster_control.hpp"

namespace leasehold::sim {

/// Brings a plan's faults about, in either world, and ends them: it decides what a fault hits, what
/// it does, how long it lasts, and which faults may overlap.
///
/// A fault is counted only once it did something, so that a run proves nothing if all its faults
/// missed.
///
/// INVARIANT: each fault that began ends once: by its own time, by `heal`, or at once when it could
/// not begin. If its end throws, it is tried again until it succeeds.
///
/// Determinism: nothing is drawn here. What a fault hits follows from the plan and the state of the
/// run alone.
///
/// Not thread-safe. REQUIRES: it outlives what it asked `call_at` for.
class FaultInjector {
 public:
  FaultInjector(ClusterControl cluster, std::int64_t clock_margin_ms);
  ~FaultInjector();

  /// Throws when a server in trouble does not answer. Then the fault has no effect, or a part of it
  /// until its time is over.
  void inject(const FaultPlan& fault);
  /// This process, by its place in the plan, sends a command, which histories call `verb`, or gets
  /// the reply to one. Faults that wait for it begin after the present event; without this call
  /// they never begin.
  void saw_command(std::int64_t place, const std::string& verb, bool is_reply);
  [[nodiscard]] bool awaits_a_command() const;
  /// Returns how many faults began at a command.
  [[nodiscard]] std::int64_t begun_at_commands() const;
  /// Ends all faults; none begins after this. Throws the error of what did not end.
  void heal();

 private:
  class Faults;
  const std::unique_ptr<Faults> faults_;
};

}  // namespace leasehold::sim
