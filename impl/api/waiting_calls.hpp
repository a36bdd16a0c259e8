#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "runtime/driver.hpp"

/// How calls of the API wait, and how their waiting is ended.
namespace leasehold::runtime {

/// Where a blocking call waits for its answer, a Result. Shared: the driver may still be inside
/// `put` when the waiter has what it wants.
/// Thread safety: all calls from any thread.
template <typename Answer>
class Mailbox {
 public:
  void put(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    filled_.notify_all();
  }
  Answer take(Driver& driver) {
    std::unique_lock lock(mutex_);
    driver.executor().wait(lock, filled_, core::Duration::max(),
                           [this] { return answer_.has_value(); });
    if (answer_) return std::move(*answer_);
    return Error{ErrorKind::shut_down, 0, "nothing runs any more that could answer"};
  }

 private:
  std::mutex mutex_;  // protects the rest
  std::condition_variable filled_;
  std::optional<Answer> answer_;
};

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
