#include "runtime/threads/executor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <system_error>
#include <thread>

#include "core/check.hpp"

namespace leasehold::runtime {
namespace {

thread_local bool started_by_executor = false;

/// Threads that are made while it exists leave the application's signals to the application, and so
/// do libmongoc's threads, because threads of ours make them. Signals of faults stay open, because
/// a blocked one would end the process without its handler.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// False: the system has no thread left. That is no reason to end the process.
bool start_thread(std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    std::thread([body = std::move(body)] {
      started_by_executor = true;
      body();
    }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

class ThreadActivity final : public Activity {
 public:
  explicit ThreadActivity(Executor::Job turn) { state_->turn = std::move(turn); }
  ~ThreadActivity() override {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_one();
  }

  [[nodiscard]] bool start() {
    return start_thread([state = state_] { run(*state); });
  }

  void wake() override {
    const std::lock_guard lock(state_->mutex);
    state_->woken = true;
    state_->changed.notify_one();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    Executor::Job turn;  ///< used and destroyed by the thread alone
    bool woken = false;  ///< protected by mutex
    bool ended = false;  ///< protected by mutex
  };

  static void run(State& state) {
    std::unique_lock lock(state.mutex);
    for (;;) {
      state.changed.wait(lock, [&] { return state.woken || state.ended; });
      if (state.ended) break;
      state.woken = false;
      lock.unlock();
      state.turn();
      lock.lock();
    }
    lock.unlock();
    state.turn = nullptr;  // what it owns may own the activity
  }

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

class TimerThread final : public TimedActivity {
 public:
  TimerThread(std::shared_ptr<const Clock> clock, Executor::Job turn)
      : state_(std::make_shared<State>(std::move(turn))), clock_(std::move(clock)) {}
  ~TimerThread() override {
    const std::uint64_t one = 1;
    state_->ended = true;
    if (state_->wake_fd >= 0) {
      LEASEHOLD_CHECK(write(state_->wake_fd, &one, sizeof one) == sizeof one);
    }
  }

  [[nodiscard]] bool start() {
    if (state_->timer_fd < 0 || state_->wake_fd < 0) return false;
    return start_thread([state = state_] { run(*state); });
  }

  void wake_at(core::LocalInstant at) override {
    // Relative to the clock in use, which need not be the kernel's. Zero would disarm.
    const auto left = std::max<core::Duration>(at - clock_->now(), std::chrono::nanoseconds(1));
    itimerspec spec{};
    spec.it_value.tv_sec = static_cast<std::time_t>(left.count() / 1'000'000'000);
    spec.it_value.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
    LEASEHOLD_CHECK(timerfd_settime(state_->timer_fd, 0, &spec, nullptr) == 0);
  }

 private:
  struct State {
    explicit State(Executor::Job turn_) : turn(std::move(turn_)) {}
    ~State() {
      if (timer_fd >= 0) close(timer_fd);
      if (wake_fd >= 0) close(wake_fd);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    Executor::Job turn;  ///< used and destroyed by the thread alone
    const int timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    const int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    std::atomic<bool> ended = false;
  };

  static void run(State& state) {
    while (!state.ended) {
      pollfd waits[2] = {{state.timer_fd, POLLIN, 0}, {state.wake_fd, POLLIN, 0}};
      poll(waits, 2, -1);
      std::uint64_t expirations = 0;
      const bool due = read(state.timer_fd, &expirations, sizeof expirations) > 0;
      if (due && !state.ended) state.turn();
    }
    state.turn = nullptr;
  }

  const std::shared_ptr<State> state_;
  const std::shared_ptr<const Clock> clock_;
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  std::unique_ptr<Activity> start(Job turn) override {
    auto activity = std::make_unique<ThreadActivity>(std::move(turn));
    return activity->start() ? std::move(activity) : nullptr;
  }

  std::unique_ptr<TimedActivity> start_timed(Job turn) override {
    auto activity = std::make_unique<TimerThread>(clock_, std::move(turn));
    return activity->start() ? std::move(activity) : nullptr;
  }

  bool run_apart(Job job) override { return start_thread(std::move(job)); }

  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            core::Duration limit, const std::function<bool()>& met) override {
    if (limit == core::Duration::max()) {
      changed.wait(lock, met);
      return true;
    }
    return changed.wait_for(lock, limit, met);
  }

  [[nodiscard]] bool on_own_thread() const override { return started_by_executor; }

 private:
  const std::shared_ptr<const Clock> clock_;
};

}  // namespace

std::shared_ptr<Executor> thread_executor(std::shared_ptr<const Clock> clock) {
  return std::make_shared<ThreadExecutor>(std::move(clock));
}

}  // namespace leasehold::runtime
