#pragma once

#include <string>

#include "sim/plan/plan.hpp"

namespace leasehold::sim::live {

inline constexpr const char* kLockCollection = "distributed.locks";

/// What a simulated process gets when it starts.
struct WorkerConfig {
  std::string name;  ///< of the process, used once in a run
  std::string uri;
  std::string database;
  Plan plan;            ///< of this process alone, without faults
  bool doomed = false;  ///< take a lock that no other process wants, hold it, and wait to be killed
  std::int64_t began_ns = 0;   ///< the times of its steps count from here
  std::string suspended_file = {};  ///< live/processes/worker_clock.hpp

  [[nodiscard]] const ProcessPlan& process() const { return plan.processes.front(); }
};

[[nodiscard]] std::string to_json(const WorkerConfig& order);
[[nodiscard]] WorkerConfig order_from_json(const std::string& text);

/// The body of a simulated process: an OS process of its own, which can be killed and stopped. It
/// writes its events to standard output, a line each, at once. From standard input it hears "wall
/// N": its wall clock is off by so many ms from now on; and "heal": it acquires and releases twice
/// more, with a long timeout, and ends, or, if scripted, releases what it has. When standard input
/// closes it ends at once. Returns the exit status.
int run_worker(const WorkerConfig& order);

}  // namespace leasehold::sim::live
