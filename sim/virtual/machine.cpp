#include "sim/virtual/machine.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::sim::simulated {

class Machine::SimulatedActivity final : public runtime::Activity {
 public:
  SimulatedActivity(Machine& machine, std::shared_ptr<Thread> thread)
      : machine_(machine), thread_(std::move(thread)) {}
  ~SimulatedActivity() override { machine_.end(*thread_); }
  // Without `run`: the turn or job that calls this lets all ready threads run when it is over.
  void wake() override { machine_.make_ready(thread_); }

 private:
  Machine& machine_;
  const std::shared_ptr<Thread> thread_;
};

class Machine::SimulatedTimer final : public runtime::TimedActivity {
 public:
  SimulatedTimer(Machine& machine, std::shared_ptr<Thread> thread)
      : machine_(machine), thread_(std::move(thread)) {}
  ~SimulatedTimer() override { machine_.end(*thread_); }

  /// The event of a time asked for before still comes; it finds that another holds.
  void wake_at(core::LocalInstant at) override {
    // Rounded up to the grain by `true_time`: never before the clock shows that, so a deadline that
    // has passed has passed. That may be one grain late, which the checkers allow.
    const auto time =
        std::max(machine_.clock.true_time(at.time_since_epoch().count()), machine_.queue_.now());
    if (*due_ == time) return;
    *due_ = time;
    machine_.queue_.at(time, [machine = &machine_, thread = thread_, due = due_, time] {
      // Another time holds, or this event's twin of the same time has been here.
      if (*due != time || thread->ended) return;
      *due = kNone;
      machine->run([machine, thread] { machine->make_ready(thread); });
    });
  }

 private:
  static constexpr std::int64_t kNone = -1;
  Machine& machine_;
  const std::shared_ptr<Thread> thread_;
  // Shared with its events, which outlive it.
  const std::shared_ptr<std::int64_t> due_ = std::make_shared<std::int64_t>(kNone);
};

/// A thread with a hanging command owns itself, as a real one does; nothing else ends it.
Machine::~Machine() {
  for (const auto& thread : threads_) {
    if (const auto left = thread.lock()) end(*left);
  }
}

std::shared_ptr<Machine::Thread> Machine::make_thread(Job turn) {
  // Those that ended are forgotten, or the list would grow all through a run.
  std::erase_if(threads_, [](const auto& thread) { return thread.expired(); });
  auto thread = std::make_shared<Thread>(Thread{std::move(turn)});
  threads_.push_back(thread);
  return thread;
}

/// What a turn owns may be what ends it: then it is destroyed after it.
void Machine::end(Thread& thread) {
  thread.ended = true;
  if (running_ == &thread) return;
  // Out of the thread before it is destroyed: what it owns may end other threads, or this one
  // again.
  const auto turn = std::exchange(thread.turn, nullptr);
}

std::unique_ptr<runtime::Activity> Machine::start(Job turn) {
  return std::make_unique<SimulatedActivity>(*this, make_thread(std::move(turn)));
}

std::unique_ptr<runtime::TimedActivity> Machine::start_timed(Job turn) {
  return std::make_unique<SimulatedTimer>(*this, make_thread(std::move(turn)));
}

/// A thread for one turn.
bool Machine::run_apart(Job job) {
  // Owned by the queue of those that are ready, and gone after its turn.
  make_ready(std::make_shared<Thread>(Thread{std::move(job)}));
  return true;
}

/// The turn itself is over at once; it is its thread's next turn that waits.
void Machine::keep_busy(std::int64_t span_ns) {
  if (running_ != nullptr) running_->busy_until = queue_.now() + span_ns;
}

void Machine::suspend() {
  clock.stand_still();
  paused_ = suspended_ = true;
}

void Machine::resume() {
  if (suspended_) clock.go_on();
  paused_ = suspended_ = false;
  auto held_back = std::move(held_back_);
  held_back_.clear();
  // In the order in which they came due, all in this instant and before anything else. One of them
  // may pause the machine again: the rest is then held back anew.
  for (const auto& job : held_back) run(job);
}

void Machine::make_ready(const std::shared_ptr<Thread>& thread) {
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

/// Each in the order in which it became busy, but for the draw that all ready threads have.
void Machine::let_go() {
  for (const auto& thread : std::exchange(busy_, {})) {
    thread->busy_until = 0;
    ready_.push_back(thread);
  }
  run_ready();
}

void Machine::run_ready() {
  inside_ = true;
  while (!ready_.empty()) {
    // Any order may be that of real threads. No draw where there is no choice: most turns are
    // alone, and a draw for each would tie every seed to how often the runtime wakes its threads.
    const auto drawn = ready_.size() == 1 ? 0 : random_.draw() % ready_.size();
    const auto next = ready_.begin() + static_cast<std::ptrdiff_t>(drawn);
    // Held here: the turn may destroy the activity that owns the thread.
    const auto thread = std::move(*next);
    ready_.erase(next);
    run_turn(thread);
  }
  inside_ = false;
}

void Machine::run_turn(const std::shared_ptr<Thread>& thread) {
  // Before the turn: a wake during it is for another turn after it.
  thread->ready = false;
  if (thread->ended) return;
  running_ = thread.get();
  thread->turn();
  running_ = nullptr;
  // It ended itself, and `end` left its function to be destroyed here.
  if (thread->ended) end(*thread);
}

}  // namespace leasehold::sim::simulated
