#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "sim/live/processes/live_processes.hpp"
#include "sim/live/processes/worker.hpp"
#include "sim/live/run/resource.hpp"

namespace leasehold::sim::live {

/// The start settings of a worker around a lock that is not ours.
struct ForeignSetting {
  WorkerConfig order;  ///< with the margin of clocks that faults leave; 0: unknown
  ForeignLock lock;
  std::string folder;  ///< a janitor's, for its standard error and its clock
  /// For one caller; called from its thread.
  std::function<std::shared_ptr<FencedResource>()> resource;
};

/// Starts one. `on_start` is called with its process before that knows the URI; `emit` is called
/// from any thread.
[[nodiscard]] std::unique_ptr<LiveProcess> start_foreign(
    ForeignSetting setting, const std::function<void(pid_t)>& on_start, LiveProcess::Now now_ns,
    LiveProcess::Emit emit);

}  // namespace leasehold::sim::live
