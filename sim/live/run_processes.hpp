#pragma once

#include <cstdint>

#include "sim/cluster_control.hpp"

namespace leasehold::sim::live {

/// The processes of a live run, as the harness drives them. One thread calls all of it.
class RunProcesses : public ProcessControl {
 public:
  /// All of the plan, whose steps count from `began_ns`, and so many that are doomed.
  virtual void start_all(std::int64_t began_ns, int doomed) = 0;
  /// Waits up to so long for something that they say, and takes what there is into the history.
  virtual void listen_ms(int limit_ms) = 0;
  /// Those of the doomed that hold their lock by now; how many.
  virtual int kill_doomed() = 0;
  /// Faults are over: they may end from now on.
  virtual void heal() = 0;
  /// Of the plan's; the doomed have nothing to do.
  [[nodiscard]] virtual bool all_done() const = 0;
  virtual void end_by_force() = 0;  ///< who did not end
  /// So that the run says nothing of the lock.
  [[nodiscard]] virtual bool somebody_died() const = 0;
};

}  // namespace leasehold::sim::live
