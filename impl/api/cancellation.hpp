#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

namespace leasehold::runtime {

/// Observes a stop token while an asynchronous call waits. `cancel` is never called after `end`:
/// until then the call keeps its driver.
class Cancellation {
 public:
  void begin(const std::stop_token& stop, std::function<void()> cancel) {
    const std::lock_guard lock(mutex_);
    if (!over_) heard_.emplace(stop, std::move(cancel));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    heard_.reset();  // waits for a cancel that runs, which waits for no callback
  }

 private:
  std::mutex mutex_;  // protects the rest
  bool over_ = false;
  std::optional<std::stop_callback<std::function<void()>>> heard_;
};

}  // namespace leasehold::runtime
