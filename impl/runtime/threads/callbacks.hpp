#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "runtime/threads/executor.hpp"

namespace leasehold::runtime {

/// Calls users' functions, one after the other, on an activity of their own: results of
/// asynchronous calls, events, warnings. So no user's function holds up a timer, a command or the
/// signal of a loss. If one throws, `threw` gets the exception there, and the next function is
/// called. The steps of the library itself have an activity of their own, which another one is.
///
/// What waits for no other function, the signal of a loss, is called apart: each thread starts
/// another one for the next before it calls its own. Such threads exist only while functions wait
/// or run, at most kMostThreads at a time.
///
/// INVARIANT: a function is called and destroyed there and nowhere else, outside every lock.
/// INVARIANT: while one waits to be called apart, a thread is on its way or kMostThreads are at it.
/// Thread safety: all calls from any thread.
class Callbacks {
 public:
  using Function = std::function<void()>;
  /// For how long `stop` waits for one function.
  static constexpr std::chrono::seconds kLongestCall{5};
  static constexpr int kMostThreads = 256;

  /// Throws std::system_error where there is no thread for it.
  explicit Callbacks(std::shared_ptr<Executor> executor,
                     std::function<void(const char* what)> threw = [](const char*) {});
  ~Callbacks();  ///< without a wait: `stop` waits
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  void post(Function function);
  /// It is posted after all where no thread is available and none calls others apart.
  void call_apart(Function function);

  /// Waits until all has been called; not for a function that takes longer than kLongestCall: that
  /// one, its thread and what is behind it are left to themselves, and nothing more is called.
  /// REQUIRES: not called by one of them.
  void stop();

 private:
  struct State {
    std::mutex mutex;  // protects the rest
    std::condition_variable called;
    std::deque<Function> queue, apart;
    int coming = 0;   ///< threads that have not taken their first function apart yet
    int threads = 0;  ///< all that call apart
    std::unique_ptr<Activity> activity;
    bool calling = false, stopped = false;
    std::uint64_t calls = 0;
    std::function<void(const char*)> threw;
  };
  static void call(State& state, const Function& function);
  static void call_next(State& state);
  using Shared = std::shared_ptr<State>;
  static bool see_to_apart(const std::shared_ptr<Executor>& executor, const Shared& state);
  static void call_all_apart(const std::shared_ptr<Executor>& executor, const Shared& state);

  const std::shared_ptr<Executor> executor_;
  const Shared state_ = std::make_shared<State>();
};

}  // namespace leasehold::runtime
