#pragma once

#include <cstdint>

#include "sim/faults/cluster_control.hpp"

namespace leasehold::sim::live {

/// The processes of a live run, as the harness drives them. One thread calls all of it.
class RunProcesses : public ProcessControl {
 public:
  /// Starts the plan's processes, with steps from `began_ns` on, and `doomed` more to be killed.
  virtual void start_all(std::int64_t began_ns, int doomed) = 0;
  /// Waits up to `limit_ms` for output of the processes, and takes what there is into the history.
  virtual void listen_ms(int limit_ms) = 0;
  /// Kills the doomed processes that hold their lock by now; returns how many.
  virtual int kill_doomed() = 0;
  /// Faults are over: they may end from now on.
  virtual void heal() = 0;
  /// Whether the plan's processes are done; the doomed have nothing to do.
  [[nodiscard]] virtual bool all_done() const = 0;
  virtual void end_by_force() = 0;  ///< kills those that did not end
  /// If true, the run says nothing of the lock.
  [[nodiscard]] virtual bool somebody_died() const = 0;
};

}  // namespace leasehold::sim::live
