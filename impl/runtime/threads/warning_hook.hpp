#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>

namespace leasehold::runtime {

/// A caller's function for warnings, until its provider is closed: a language's runtime may end
/// before the library's threads do, and must not be called by them then.
/// Thread safety: all calls.
class WarningHook {
 public:
  explicit WarningHook(std::function<void(const std::string&)> function)
      : function_(std::move(function)) {}

  void warn(const std::string& message) {
    const std::lock_guard running(running_);
    if (!ended_) return function_(message);
    std::fprintf(stderr, "leasehold: %s\n", message.c_str());
  }

  /// Waits for a call of the function that runs, unless that call ends it, and at most as long
  /// as the end of a provider does.
  void end() {
    ended_ = true;
    if (running_.try_lock_for(std::chrono::seconds(5))) running_.unlock();
  }

 private:
  const std::function<void(const std::string&)> function_;
  std::recursive_timed_mutex running_;  // held while the function runs, which may call `end`
  std::atomic<bool> ended_ = false;
};

}  // namespace leasehold::runtime
