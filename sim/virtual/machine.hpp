#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/executor.hpp"
#include "sim/suspension.hpp"
#include "sim/virtual/event_queue.hpp"
#include "sim/virtual/random.hpp"

namespace leasehold::sim::simulated {

/// The machine that a simulated process runs on: its clocks, which may be wrong, and its threads,
/// of which one runs at a time, for no time at all, in an order that is drawn. The runtime of
/// production runs on it unchanged.
class Machine final : public runtime::Executor, public runtime::Clock {
 public:
  /// Its clock runs `drift_ppm` fast.
  Machine(EventQueue& queue, std::int64_t drift_ppm, std::int64_t epoch_ms, std::uint64_t seed)
      : queue_(queue), drift_ppm_(drift_ppm), epoch_ms_(epoch_ms), random_(seed) {}
  ~Machine() override;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] core::LocalInstant now() const override;
  [[nodiscard]] core::WallInstant wall() const override;
  std::int64_t wall_offset_ms = 0;

  /// What this machine's clock shows at that true time, and the first true time at which it shows
  /// that. All that happens, happens on the grain.
  [[nodiscard]] std::int64_t shown_at(std::int64_t true_ns) const;
  [[nodiscard]] std::int64_t true_time(std::int64_t shown_ns) const;

  std::unique_ptr<runtime::Activity> start(Job turn) override;
  std::unique_ptr<runtime::TimedActivity> start_timed(Job turn) override;
  bool run_apart(Job job) override;
  bool wait(std::unique_lock<std::mutex>&, std::condition_variable&, core::Duration,
            const std::function<bool()>& met) override {
    return met();
  }
  [[nodiscard]] bool on_own_thread() const override { return false; }

  /// Something happens in the process: now, or once it runs again; never if it was killed.
  void run(const Job& job);
  void later(std::int64_t span_ns, Job job);
  /// The turn under way keeps its thread for so long: as if a user's function took that time.
  void keep_busy(std::int64_t span_ns);

  void kill() { killed_ = true; }
  /// Busy threads take their turns at once, also of a killed process: what waits for them may own
  /// what owns it, and nothing else would ever destroy either.
  void let_go();
  void pause() { paused_ = true; }
  void suspend();  ///< a pause that its clocks do not see
  void resume();
  [[nodiscard]] bool killed() const { return killed_; }
  [[nodiscard]] bool paused() const { return paused_; }

 private:
  struct Thread {
    Job turn;
    bool ready = false, ended = false;
    std::int64_t busy_until = 0;
  };
  class SimulatedActivity;
  class SimulatedTimer;
  [[nodiscard]] std::int64_t shown_after(std::int64_t ran_ns) const;
  std::shared_ptr<Thread> make_thread(Job turn);
  void end(Thread& thread);
  void make_ready(const std::shared_ptr<Thread>& thread);
  void run_ready();
  void run_turn(const std::shared_ptr<Thread>& thread);

  EventQueue& queue_;
  const std::int64_t drift_ppm_, epoch_ms_;
  Random random_;
  std::vector<std::weak_ptr<Thread>> threads_;  ///< all that were started
  std::vector<std::shared_ptr<Thread>> ready_;
  std::vector<std::shared_ptr<Thread>> busy_;  ///< have a turn to take once they are free
  Thread* running_ = nullptr;
  bool inside_ = false, killed_ = false, paused_ = false, suspended_ = false;
  std::vector<Job> held_back_;  ///< while it is paused
  std::vector<Suspension> suspensions_;
};

}  // namespace leasehold::sim::simulated
