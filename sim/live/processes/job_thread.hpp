#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace leasehold::sim::live {

/// A thread that runs the jobs it is given, now or at a time, one after the other. Thread safety:
/// all calls from any thread. Its end waits for the job under way; what was not begun is not done.
class JobThread {
 public:
  using Job = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  JobThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void post(Job job) { at(Clock::time_point::min(), std::move(job)); }
  void later(std::chrono::nanoseconds span, Job job) { at(Clock::now() + span, std::move(job)); }

 private:
  void at(Clock::time_point due, Job job) {
    const std::lock_guard guard(mutex_);
    jobs_.emplace(due, std::move(job));
    changed_.notify_all();
  }

  void run(const std::stop_token& stop) {
    std::unique_lock guard(mutex_);
    while (!stop.stop_requested()) {
      const auto first = jobs_.begin();
      if (first == jobs_.end()) {
        changed_.wait(guard, stop, [this] { return !jobs_.empty(); });
      } else if (const auto due = first->first; due > Clock::now()) {
        changed_.wait_until(guard, stop, due, [&] { return jobs_.begin()->first < due; });
      } else {
        const auto job = jobs_.extract(first);
        guard.unlock();
        job.mapped()();
        guard.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::multimap<Clock::time_point, Job> jobs_;  ///< by when they are due
  std::jthread thread_;
};

}  // namespace leasehold::sim::live
