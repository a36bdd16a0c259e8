#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/threads/clock.hpp"
#include "runtime/threads/executor.hpp"
#include "sim/faults/suspension.hpp"
#include "sim/plan/random.hpp"
#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {

/// The clocks of a simulated machine: they decide how virtual time looks from within.
///
/// Determinism: whole numbers alone, so a clock that drifts shows the same on every real machine.
///
/// INVARIANT: what it shows never goes back.
class MachineClock final : public runtime::Clock {
 public:
  /// It runs `drift_ppm` fast, which may be negative. `epoch_ms` is the wall clock at virtual time
  /// 0, since 1970.
  MachineClock(const EventQueue& queue, std::int64_t drift_ppm, std::int64_t epoch_ms)
      : queue_(queue), drift_ppm_(drift_ppm), epoch_ms_(epoch_ms) {}

  /// As CLOCK_BOOTTIME: it starts with the run, drifts, and cannot be set.
  [[nodiscard]] core::LocalInstant now() const override {
    return core::LocalInstant(core::Duration(shown_at(queue_.now())));
  }
  /// Without drift, and off by `wall_offset_ms`, which a fault sets. No decision of the production
  /// lock reads it.
  [[nodiscard]] core::WallInstant wall() const override {
    return {epoch_ms_ + queue_.now() / kMs + wall_offset_ms};
  }
  std::int64_t wall_offset_ms = 0;

  /// What this clock shows at that true time, and the first true time at which it shows that. All
  /// events are on the grain.
  [[nodiscard]] std::int64_t shown_at(std::int64_t true_ns) const {
    return shown_after(ran_until(suspensions_, true_ns));
  }
  [[nodiscard]] std::int64_t true_time(std::int64_t shown_ns) const {
    // The inverse is off by rounding; two grains below it is certainly not too late, and from there
    // the first grain that shows enough is a few steps away. 128 bits, for ns times a million
    // overflow 64 after a few hours.
    const auto estimate = static_cast<std::int64_t>(static_cast<__int128>(shown_ns) * 1'000'000 /
                                                    (1'000'000 + drift_ppm_));
    std::int64_t ran = std::max<std::int64_t>(estimate / kGrain - 2, 0) * kGrain;
    while (shown_after(ran) < shown_ns) ran += kGrain;
    return true_time_of(suspensions_, ran);
  }

  /// From now on it stands still, and does not know it, because no clock of a suspended virtual
  /// machine sees the suspension.
  void stand_still() {
    // For as long as it lasts its end is not known. Half of the range, so that adding to it cannot
    // overflow.
    constexpr auto kForNow = std::numeric_limits<std::int64_t>::max() / 2;
    suspensions_.push_back({queue_.now(), kForNow});
  }

  void go_on() { suspensions_.back().for_ns = queue_.now() - suspensions_.back().from_ns; }

 private:
  /// In whole grains and without floating point: a clock that drifts shows the same on every
  /// machine.
  [[nodiscard]] std::int64_t shown_after(std::int64_t ran_ns) const {
    return ran_ns + ran_ns / kGrain * drift_ppm_ / (1'000'000 / kGrain);
  }

  const EventQueue& queue_;
  const std::int64_t drift_ppm_, epoch_ms_;
  // INVARIANT: in the order of time; only the last may have an unknown end.
  std::vector<Suspension> suspensions_;
};

/// The machine that a simulated process runs on: its clock, which may be wrong, and its threads,
/// of which one runs at a time, for no time at all, in an order that is drawn. The runtime of
/// production runs on it unchanged.
///
/// Turns take no virtual time, so what production does in microseconds happens in one instant here.
/// Only the order of the turns varies, which shows races between threads. `keep_busy` simulates a
/// user's function that takes its time.
///
/// Determinism: one thread, an order drawn from `seed`, integer clocks. A run can be repeated
/// because there is no real thread, no real clock and no waiting.
///
/// REQUIRES: it outlives all activities that it started, and the queue's events refer to it.
class Machine final : public runtime::Executor {
 public:
  /// The first three are those of `MachineClock`; `seed` draws the order of its threads.
  Machine(EventQueue& queue, std::int64_t drift_ppm, std::int64_t epoch_ms, std::uint64_t seed)
      : clock(queue, drift_ppm, epoch_ms), queue_(queue), random_(seed) {}
  /// A thread with a hanging command owns itself, as a real one does; nothing else ends it.
  ~Machine() override {
    end_users();
    for (const auto& thread : threads_) {
      if (const auto left = thread.lock()) end(*left);
    }
  }

  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  MachineClock clock;

  // Never null and never false, because lack of threads is not simulated.
  std::unique_ptr<runtime::Activity> start(Job turn) override {
    return std::make_unique<SimulatedActivity>(*this, make_thread(std::move(turn)));
  }
  std::unique_ptr<runtime::TimedActivity> start_timed(Job turn) override {
    return std::make_unique<SimulatedActivity>(*this, make_thread(std::move(turn)));
  }
  /// A thread for one turn.
  bool run_apart(Job job) override {
    // Owned by the queue of those that are ready, and gone after its turn.
    make_ready(std::make_shared<Thread>(Thread{std::move(job)}));
    return true;
  }
  /// A thread of a user waits, while the others take their turns, and asks after each. Any other is
  /// the only one that runs: it asks once.
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable&, core::Duration limit,
            const std::function<bool()>& met) override {
    UserThread* const self = UserThread::current;
    if (met() || self == nullptr || ends_ || limit <= core::Duration(0)) return met();
    if (limit != core::Duration::max()) {
      const auto until = clock.true_time((clock.now() + limit).time_since_epoch().count());
      queue_.at(until, [this, turns = self->turns, self, wait = self->waits_over()] {
        run([this, turns, self, wait] {
          // Its thread's turns end with it, so it is there.
          if (!turns->ended && self->waits_over() == wait) make_ready(turns);
        });
      });
    }
    self->wait({lock, met});
    return met();
  }
  /// Runs `job` as a thread of a user, which may call what waits.
  void start_user(Job job) {
    std::erase_if(users_, [this](const auto& user) {
      if (user->over()) end(*user->turns);
      return user->over();
    });
    auto user = std::make_shared<UserThread>(std::move(job));
    user->turns = make_thread([user = user.get()] {
      if (!user->over()) user->run();
    });
    make_ready(user->turns);
    users_.push_back(std::move(user));
  }

  /// False: the runtime has no thread of its own here, so it may join and destroy from anywhere.
  [[nodiscard]] bool on_own_thread() const override { return false; }

  /// Something happens in the process: now, or once it runs again; never if it was killed. All that
  /// comes from outside goes through here: a timer, a reply, a user's call. Afterwards, in the same
  /// instant, all threads that it made ready take their turns.
  template <typename Do>
  void run(Do job) {
    if (killed_) return;
    // A stopped process's timers and sockets become due meanwhile; it sees all of it when it goes
    // on.
    if (paused_) {
      held_back_.emplace_back(std::move(job));
      return;
    }
    job();
    // Also called from within a turn, by a user's function that asks for something: then the loop
    // further out goes on with what is ready.
    if (!inside_) run_ready();
  }

  /// In true time, not by this machine's clock.
  /// Not as a Job, here and above: what it does goes into the event itself, without an allocation.
  template <typename Do>
  void later(std::int64_t span_ns, Do job) {
    queue_.after(span_ns, [this, job = std::move(job)]() mutable { run(std::move(job)); });
  }
  /// The turn under way keeps its thread for this time, as a user's function would.
  /// REQUIRES: for an effect, it is called within a turn.
  /// The turn itself is over at once; it is its thread's next turn that waits.
  void keep_busy(std::int64_t span_ns) {
    if (running_ != nullptr) running_->busy_until = queue_.now() + span_ns;
  }

  /// Nothing of the process runs again, and nothing is destroyed, because a SIGKILL runs no
  /// destructors. The memory goes with this object.
  void kill() { killed_ = true; }
  /// Busy threads take their turns at once, also of a killed process, because a waiting closure may
  /// own what owns it, and nothing else would destroy either. No wait of a user's thread goes on
  /// after this, so they end.
  /// Each in the order in which it became busy, but for the draw that all ready threads have.
  void let_go() {
    for (const auto& thread : std::exchange(busy_, {})) {
      thread->busy_until = 0;
      ready_.push_back(thread);
    }
    run_ready();
    end_users();
  }

  /// SIGSTOP: the clocks go on, and what came due meanwhile runs on `resume`, late.
  void pause() { paused_ = true; }
  /// A pause that its clocks do not see.
  void suspend() {
    clock.stand_still();
    paused_ = suspended_ = true;
  }
  void resume() {
    if (suspended_) clock.go_on();
    paused_ = suspended_ = false;
    auto held_back = std::move(held_back_);
    held_back_.clear();
    // In the order in which they came due, all in this instant and before anything else. One of
    // them may pause the machine again: the rest is then held back anew.
    for (const auto& job : held_back) run(job);
  }

  [[nodiscard]] bool killed() const { return killed_; }
  [[nodiscard]] bool paused() const { return paused_; }

 private:
  // INVARIANT: `ready` while it is in `ready_` or `busy_`, or waits for its time; so several wakes
  // before a turn are one, as `Activity` has it.
  struct Thread {
    Job turn;
    bool ready = false, ended = false;
    std::int64_t busy_until = 0;
    static constexpr std::int64_t kNone = -1;
    std::int64_t due = kNone;  ///< the time for which it was asked to wake, if that is yet to come
  };

  /// A thread of the operating system, because it must keep its stack while it waits. It and the
  /// machine's own pass the turn to each other, so one of the two runs at a time.
  class UserThread {
   public:
    explicit UserThread(Job job)
        : thread_([this, job = std::move(job)] {
            its_turn_.acquire();
            current = this;
            job();
            over_ = true;
            back_.release();
          }) {}
    ~UserThread() { thread_.join(); }
    UserThread(const UserThread&) = delete;
    UserThread& operator=(const UserThread&) = delete;

    /// The machine's thread calls it; it returns when this one waits or is over.
    void run() {
      its_turn_.release();
      back_.acquire();
    }
    [[nodiscard]] bool over() const { return over_; }
    [[nodiscard]] bool waits() const { return wait_ != nullptr; }
    /// Whether what it waits for is there.
    [[nodiscard]] bool may_go_on() const {
      const std::lock_guard guard(*wait_->lock.mutex());
      return wait_->met();
    }

    /// What this thread waits for until the machine runs it again.
    struct Wait {
      std::unique_lock<std::mutex>& lock;
      const std::function<bool()>& met;
    };
    void wait(const Wait& what) {
      wait_ = &what;
      what.lock.unlock();
      back_.release();
      its_turn_.acquire();
      what.lock.lock();
      wait_ = nullptr;
      ++waits_;
    }
    /// How many waits are over: which one a timer belongs to.
    [[nodiscard]] std::int64_t waits_over() const { return waits_; }

    std::shared_ptr<Thread> turns;
    static inline thread_local UserThread* current = nullptr;  ///< on the machine's thread

   private:
    const Wait* wait_ = nullptr;
    std::int64_t waits_ = 0;
    bool over_ = false;
    std::binary_semaphore its_turn_{0}, back_{0};
    std::thread thread_;  // last: it uses the rest
  };

  class SimulatedActivity final : public runtime::Activity, public runtime::TimedActivity {
   public:
    SimulatedActivity(Machine& machine, std::shared_ptr<Thread> thread)
        : machine_(machine), thread_(std::move(thread)) {}
    ~SimulatedActivity() override { machine_.end(*thread_); }
    // Without `run`: the turn or job that calls this lets all ready threads run when it is over.
    void wake() override { machine_.make_ready(thread_); }

    /// The event of a time asked for before still comes; it finds that another holds.
    void wake_at(core::LocalInstant at) override {
      // Rounded up to the grain by `true_time`: never before the clock shows that, so a deadline
      // that has passed has passed. That may be one grain late, which the checkers allow.
      const auto time =
          std::max(machine_.clock.true_time(at.time_since_epoch().count()), machine_.queue_.now());
      if (thread_->due == time) return;
      thread_->due = time;
      machine_.queue_.at(time, [machine = &machine_, thread = thread_, time] {
        // Another time holds, or this event's twin of the same time has been here.
        if (thread->due != time || thread->ended) return;
        thread->due = Thread::kNone;
        machine->run([machine, thread] { machine->make_ready(thread); });
      });
    }

   private:
    Machine& machine_;
    const std::shared_ptr<Thread> thread_;
  };

  std::shared_ptr<Thread> make_thread(Job turn) {
    // Those that ended are forgotten, or the list would grow all through a run.
    std::erase_if(threads_, [](const auto& thread) { return thread.expired(); });
    auto thread = std::make_shared<Thread>(Thread{std::move(turn)});
    threads_.push_back(thread);
    return thread;
  }

  /// What a turn owns may be what ends it: then it is destroyed after it.
  void end(Thread& thread) {
    thread.ended = true;
    if (running_ == &thread) return;
    // Out of the thread before it is destroyed: what it owns may end other threads, or this one
    // again.
    const auto turn = std::exchange(thread.turn, nullptr);
  }

  void make_ready(const std::shared_ptr<Thread>& thread) {
    if (thread->ready || thread->ended) return;
    // Before it waits for its time: further wakes until then add nothing.
    thread->ready = true;
    if (thread->busy_until <= queue_.now()) {
      ready_.push_back(thread);
      return;
    }
    // Its turn is due, but its thread is still within a user's function.
    busy_.push_back(thread);
    queue_.at(thread->busy_until, [this, thread] {
      run([this, thread] {
        std::erase(busy_, thread);
        // `run` takes the turn after this.
        ready_.push_back(thread);
      });
    });
  }

  /// Those whose wait is over because of the turn before.
  void wake_users() {
    for (const auto& user : users_) {
      if (!user->over() && user->waits() && !user->turns->ready && user->may_go_on()) {
        make_ready(user->turns);
      }
    }
  }

  void end_users() {
    ends_ = true;
    for (const auto& user : users_) {
      while (!user->over()) user->run();
      end(*user->turns);
    }
    users_.clear();
  }

  void run_ready() {
    inside_ = true;
    wake_users();
    while (!ready_.empty()) {
      // Any order may be that of real threads. No draw where there is no choice: most turns are
      // alone, and a draw for each would tie every seed to how often the runtime wakes its threads.
      const auto drawn = ready_.size() == 1 ? 0 : random_.draw() % ready_.size();
      const auto next = ready_.begin() + static_cast<std::ptrdiff_t>(drawn);
      // Held here: the turn may destroy the activity that owns the thread.
      const auto thread = std::move(*next);
      ready_.erase(next);
      run_turn(thread);
      wake_users();
    }
    inside_ = false;
  }

  void run_turn(const std::shared_ptr<Thread>& thread) {
    // Before the turn: a wake during it is for another turn after it.
    thread->ready = false;
    if (thread->ended) return;
    running_ = thread.get();
    thread->turn();
    running_ = nullptr;
    // It ended itself, and `end` left its function to be destroyed here.
    if (thread->ended) end(*thread);
  }

  EventQueue& queue_;
  Random random_;
  // Weak, since an activity owns its thread. In the order of their starts, which decides nothing.
  std::vector<std::weak_ptr<Thread>> threads_;  ///< all that were started
  // INVARIANT: in the order in which they became ready; the draw is a place in it.
  std::vector<std::shared_ptr<Thread>> ready_;
  std::vector<std::shared_ptr<Thread>> busy_;  ///< have a turn to take once they are free
  std::vector<std::shared_ptr<UserThread>> users_;  ///< in the order of their starts
  // INVARIANT: null between turns. A thread that is destroyed within its own turn keeps its
  // function until the turn is over.
  Thread* running_ = nullptr;
  // `inside_`: within `run_ready`. Jobs that run from there leave their threads to that loop, so
  // turns never nest, as one thread's turn never runs inside another's.
  bool inside_ = false, killed_ = false, paused_ = false, suspended_ = false;
  bool ends_ = false;  ///< no wait of a user's thread goes on
  std::vector<Job> held_back_;  ///< while it is paused
};

}  // namespace leasehold::sim::simulated
