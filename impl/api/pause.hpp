#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "runtime/driver.hpp"

namespace leasehold::runtime {

/// Waits for this time, or until `stop` fires: then false.
inline bool pause(Driver& driver, core::Duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable stopped;
  const std::stop_callback wake(stop, [&] {
    const std::lock_guard guard(mutex);
    stopped.notify_all();
  });
  std::unique_lock lock(mutex);
  return !driver.executor().wait(lock, stopped, time, [&stop] { return stop.stop_requested(); });
}

}  // namespace leasehold::runtime
