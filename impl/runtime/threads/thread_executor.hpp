#pragma once

#include "runtime/threads/clock.hpp"
#include "runtime/threads/executor.hpp"

namespace leasehold::runtime {

/// Real threads, one for each activity. They are detached: a thread that hangs in its turn for good
/// outlives everything else without holding it up. A thread ends once its activity was destroyed
/// and its turn is over, and destroys the turn's function then.
/// Thread safety: all calls from any thread.
[[nodiscard]] std::shared_ptr<Executor> thread_executor(std::shared_ptr<const Clock> clock);

}  // namespace leasehold::runtime
