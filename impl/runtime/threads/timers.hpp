#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/protocol.hpp"
#include "runtime/threads/clock.hpp"
#include "runtime/threads/executor.hpp"

namespace leasehold::runtime {

/// Fires the core's timers, and with them every loss, on an activity of its own that never waits
/// for anything but the time.
///
/// INVARIANT: while a timer is set, the activity is to be woken at the earliest one or before.
/// Thread safety: all calls from any thread. `on_due` is called without a lock, never after `stop`
/// returned. A timer that is cleared while it fires may still be reported: the core ignores that.
class Timers {
 public:
  /// Throws std::system_error where there is no thread or no descriptor for it.
  Timers(std::shared_ptr<Executor> executor, std::shared_ptr<const Clock> clock,
         std::function<void(core::Timer)> on_due);
  ~Timers();  ///< without a wait: `stop` waits
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  /// A timer that is set already gets the new time.
  void set(core::Timer timer, core::LocalInstant at);
  void clear(core::Timer timer);

  /// Nothing fires from here on; waits for what is firing.
  void stop();

 private:
  struct State {
    std::shared_ptr<const Clock> clock;
    std::function<void(core::Timer)> on_due;
    std::mutex mutex;  // protects the rest
    std::condition_variable fired;
    std::map<core::Timer, core::LocalInstant> set;
    std::set<std::pair<core::LocalInstant, core::Timer>> order;  ///< the same, by time
    std::unique_ptr<TimedActivity> activity;
    bool firing = false, stopped = false;

    void remove(core::Timer timer);
    void arm_earliest();
  };
  static void fire_due(State& state);

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<State> state_;
};

}  // namespace leasehold::runtime
