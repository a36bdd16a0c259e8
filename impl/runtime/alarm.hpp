#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "core/protocol.hpp"
#include "runtime/clock.hpp"

namespace leasehold::runtime {

/// The thread that fires the core's timers, and with them every lost signal. It never waits for
/// anything but the time: CLOCK_BOOTTIME, so that a timer which came due during suspend fires on
/// waking.
/// Thread safety: `set` from any thread. `on_fire` is called on its own thread, never after the
/// destructor returned.
class Alarm {
 public:
  Alarm(std::shared_ptr<const Clock> clock, std::function<void(core::Timer)> on_fire);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void set(core::Timer timer, core::LocalInstant at);

 private:
  struct Entry {
    core::LocalInstant at;
    core::Timer timer;
    auto operator<=>(const Entry&) const = default;
  };
  void run();
  void arm(core::LocalInstant at);  ///< REQUIRES: mutex_ held
  std::vector<core::Timer> take_due();

  const std::shared_ptr<const Clock> clock_;
  const std::function<void(core::Timer)> on_fire_;
  int timer_fd_;
  int wake_fd_;

  std::mutex mutex_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;  ///< by mutex_
  bool stopped_ = false;                                                    ///< by mutex_
  std::thread thread_;
};

}  // namespace leasehold::runtime
