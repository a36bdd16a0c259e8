#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace leasehold::runtime {

/// A caller's function for warnings, until its provider is closed: a language's runtime may end
/// before the library's threads do, and must not be called by them then.
/// Thread safety: all calls.
class WarningHook {
 public:
  explicit WarningHook(std::function<void(const std::string&)> function)
      : function_(std::move(function)) {}

  void warn(const std::string& message) {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [this] { return is_mine(); });
    if (ended_) {
      std::fprintf(stderr, "leasehold: %s\n", message.c_str());
      return;
    }
    const Running running{*this, std::exchange(running_, std::this_thread::get_id())};
    guard.unlock();
    function_(message);
  }

  /// Waits for a call of the function that runs, unless that call ends it, and at most as long
  /// as the end of a provider does.
  void end() {
    std::unique_lock guard(mutex_);
    ended_ = true;
    changed_.wait_for(guard, std::chrono::seconds(5), [this] { return is_mine(); });
  }

 private:
  struct Running {
    WarningHook& hook;
    const std::thread::id before;

    ~Running() {
      const std::lock_guard guard(hook.mutex_);
      hook.running_ = before;
      hook.changed_.notify_all();
    }
  };

  /// Whether no other thread runs the function.
  bool is_mine() const {
    return running_ == std::thread::id() || running_ == std::this_thread::get_id();
  }

  const std::function<void(const std::string&)> function_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id running_;  ///< the thread that runs the function, if one does
  bool ended_ = false;
};

}  // namespace leasehold::runtime
