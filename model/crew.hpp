#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::model {

/// Threads that share a number of tasks and wait in between. The caller's thread is one of them.
class Crew {
 public:
  /// `threads`: at least 1, which is the caller's own.
  explicit Crew(unsigned threads) {
    for (unsigned i = 1; i < threads; ++i) {
      others_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
    }
  }

  /// Calls `task` with each number below `count` once, and returns when all are done. Throws what
  /// one of them threw; the others are done before.
  void each(unsigned count, const std::function<void(unsigned)>& task) {
    {
      const std::scoped_lock lock(mutex_);
      task_ = &task;
      count_ = count;
      next_ = 0;
      busy_ = others_.size();
      ++round_;
    }
    wake_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  /// That its threads have used, the caller's own included.
  [[nodiscard]] double cpu_seconds() {
    double all = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (std::jthread& other : others_) {
      clockid_t clock{};
      if (pthread_getcpuclockid(other.native_handle(), &clock) == 0) all += seconds(clock);
    }
    return all;
  }

 private:
  static double seconds(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }

  void serve(const std::stop_token& stop) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [&] { return round_ != seen; })) {
      seen = round_;
      lock.unlock();
      work();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void work() {
    try {
      for (unsigned i = next_++; i < count_; i = next_++) (*task_)(i);
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      thrown_ = std::current_exception();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable done_;
  const std::function<void(unsigned)>* task_ = nullptr;
  unsigned count_ = 0;
  std::atomic<unsigned> next_ = 0;
  std::size_t busy_ = 0;
  std::uint64_t round_ = 0;
  std::exception_ptr thrown_;
  std::vector<std::jthread> others_;  ///< the last: they end before what they use
};

}  // namespace leasehold::model
