#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "runtime/driver.hpp"

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

}  // namespace leasehold::runtime
