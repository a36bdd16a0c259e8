#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "runtime/threads/clock.hpp"

namespace leasehold::runtime {

/// Work that is done on request: `turn` runs once or more after each `wake`, never twice at the
/// same time. Destroying it means that no further turn begins; one under way goes on, and may be
/// what destroys it.
/// Thread safety: `wake` from any thread.
class Activity {
 public:
  virtual ~Activity() = default;
  virtual void wake() = 0;
};

/// The same, woken by the clock: CLOCK_BOOTTIME, so that what came due during suspend runs on
/// waking.
class TimedActivity {
 public:
  virtual ~TimedActivity() = default;
  /// Replaces the time asked for before. A time that is past wakes at once.
  virtual void wake_at(core::LocalInstant at) = 0;
};

/// All that the runtime asks of the machine: threads, timers, and waiting. ThreadExecutor has real
/// ones; the virtual world has one thread and its own time, and runs the very same driver.
class Executor {
 public:
  using Job = std::function<void()>;

  virtual ~Executor() = default;

  /// Null: no thread is available now.
  virtual std::unique_ptr<Activity> start(Job turn) = 0;
  /// Null: there is no thread, or no descriptor for its timer.
  virtual std::unique_ptr<TimedActivity> start_timed(Job turn) = 0;

  /// Runs `job` once, beside everything else. False: no thread is available now.
  virtual bool run_apart(Job job) = 0;

  /// Waits until `met` says true, which is asked with `lock` held, whenever `changed` was notified;
  /// at most for `limit`. Returns what it said last. Where no other thread runs that could make it
  /// true it is asked once.
  virtual bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                    core::Duration limit, const std::function<bool()>& met) = 0;

  /// Whether this thread is one that an executor of this kind started, for whatever purpose.
  [[nodiscard]] virtual bool on_own_thread() const = 0;
};

/// Real threads, one for each activity. They are detached: a thread that hangs in its turn for good
/// outlives everything else without holding it up. A thread ends once its activity was destroyed
/// and its turn is over, and destroys the turn's function then.
/// Thread safety: all calls from any thread.
[[nodiscard]] std::shared_ptr<Executor> thread_executor(std::shared_ptr<const Clock> clock);

/// Ends the activity of a state, which its thread destroys, maybe at once.
template <typename State>
void end_activity(State& state) {
  std::unique_lock lock(state.mutex);
  const auto activity = std::move(state.activity);
  lock.unlock();
}

/// The activity. Throws std::system_error, which names `what` it is for, if it is null.
template <typename Started>
[[nodiscard]] Started require_started(Started activity, const char* what) {
  if (activity) return activity;
  throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                          std::string("no thread for ") + what);
}

}  // namespace leasehold::runtime
