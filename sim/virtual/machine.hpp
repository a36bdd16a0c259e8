#pragma once

#include <functional>
#include <memory>
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
  [[nodiscard]] core::LocalInstant now() const override;
  /// Without drift, and off by `wall_offset_ms`, which a fault sets. No decision of the production
  /// lock reads it.
  [[nodiscard]] core::WallInstant wall() const override;
  std::int64_t wall_offset_ms = 0;

  /// What this clock shows at that true time, and the first true time at which it shows that. All
  /// events are on the grain.
  [[nodiscard]] std::int64_t shown_at(std::int64_t true_ns) const;
  [[nodiscard]] std::int64_t true_time(std::int64_t shown_ns) const;

  /// From now on it stands still, and does not know it, because no clock of a suspended virtual
  /// machine sees the suspension.
  void stand_still();
  void go_on();

 private:
  [[nodiscard]] std::int64_t shown_after(std::int64_t ran_ns) const;

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
  ~Machine() override;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  MachineClock clock;

  // Never null and never false, because lack of threads is not simulated.
  std::unique_ptr<runtime::Activity> start(Job turn) override;
  std::unique_ptr<runtime::TimedActivity> start_timed(Job turn) override;
  bool run_apart(Job job) override;
  /// A thread of a user waits, while the others take their turns, and asks after each. Any other is
  /// the only one that runs: it asks once.
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable&, core::Duration limit,
            const std::function<bool()>& met) override;
  /// Runs `job` as a thread of a user, which may call what waits.
  void start_user(Job job);
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
  void keep_busy(std::int64_t span_ns);

  /// Nothing of the process runs again, and nothing is destroyed, because a SIGKILL runs no
  /// destructors. The memory goes with this object.
  void kill() { killed_ = true; }
  /// Busy threads take their turns at once, also of a killed process, because a waiting closure may
  /// own what owns it, and nothing else would destroy either. No wait of a user's thread goes on
  /// after this, so they end.
  void let_go();
  /// SIGSTOP: the clocks go on, and what came due meanwhile runs on `resume`, late.
  void pause() { paused_ = true; }
  void suspend();  ///< a pause that its clocks do not see
  void resume();
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
  class UserThread;
  class SimulatedActivity;
  std::shared_ptr<Thread> make_thread(Job turn);
  void end(Thread& thread);
  void make_ready(const std::shared_ptr<Thread>& thread);
  void wake_users();
  void end_users();
  void run_ready();
  void run_turn(const std::shared_ptr<Thread>& thread);

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
