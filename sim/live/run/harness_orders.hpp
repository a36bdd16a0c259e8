#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "sim/live/processes/worker_clock.hpp"

namespace leasehold::sim::live {

/// What the harness tells a worker by its standard input, one order a line: that faults are over,
/// or by how much its wall clock is off. A worker ends when its standard input ends, because then
/// the harness is gone.
///
/// Thread safety: all but `listen` from any thread.
class HarnessOrders {
 public:
  explicit HarnessOrders(WorkerClock& clock) : clock_(clock) {}

  /// Listens from now on, until this ends. To be called once.
  void listen();
  /// Waits for this time, but at most until faults are over.
  void wait(std::chrono::nanoseconds time);
  [[nodiscard]] bool healed() const { return healed_; }

 private:
  void read_orders(const std::stop_token& stop);
  void obey(const std::string& line);

  WorkerClock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> healed_ = false;
  std::jthread listener_;  ///< last: it ends before what it uses
};

}  // namespace leasehold::sim::live
