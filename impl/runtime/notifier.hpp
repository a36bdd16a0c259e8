#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace leasehold::runtime {

/// Runs callbacks of users, one after the other, on a thread of its own: lost signals, warnings,
/// asynchronous results. So nothing that a user does can hold up a timer or a command.
/// Thread safety: `post` from any thread.
class Notifier {
 public:
  Notifier();
  /// Runs what was posted before, then ends; waits for that unless a callback is what destroys it.
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void post(std::function<void()> callback);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;  ///< protected by mutex
    bool stopped = false;                     ///< protected by mutex
    bool finished = false;                    ///< protected by mutex
  };
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace leasehold::runtime
