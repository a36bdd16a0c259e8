#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "runtime/handle_state.hpp"
#include "runtime/threads/executor.hpp"

namespace leasehold::runtime {

/// Fires the `lost()` tokens of handles. A user's stop callbacks run inside that, and may take
/// their time; so a loss waits neither for the queue of other callbacks nor for another loss: each
/// thread starts another one for the next loss before it runs callbacks. Threads exist only while
/// losses wait or callbacks run, at most kMostThreads at a time.
///
/// INVARIANT: while a loss waits, a thread is on its way, or kMostThreads are at it.
/// Thread safety: all calls from any thread.
class LossSignals {
 public:
  static constexpr int kMostThreads = 256;
  static constexpr std::chrono::seconds kLongestCall{5};

  explicit LossSignals(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}
  LossSignals(const LossSignals&) = delete;
  LossSignals& operator=(const LossSignals&) = delete;

  /// False: no thread is available; then it is the caller's to signal.
  [[nodiscard]] bool signal(std::shared_ptr<HandleState> handle);

  /// Waits until all that was asked for has been signalled, at most kLongestCall: a stop callback
  /// that takes longer is left to itself.
  /// REQUIRES: not called by a stop callback of one of them.
  void stop();

 private:
  struct State {
    std::mutex mutex;  // protects the rest
    std::condition_variable done;
    std::deque<std::shared_ptr<HandleState>> waiting;
    int coming = 0;   ///< threads that have not taken their first loss yet
    int threads = 0;  ///< all
  };
  static bool see_to_it(const std::shared_ptr<Executor>& executor,
                        const std::shared_ptr<State>& state);
  static void signal_all(const std::shared_ptr<Executor>& executor,
                         const std::shared_ptr<State>& state);

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace leasehold::runtime
