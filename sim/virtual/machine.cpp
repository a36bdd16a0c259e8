#include "sim/virtual/machine.hpp"

#include <limits>
#include <utility>

namespace leasehold::sim::simulated {

class Machine::SimulatedActivity final : public runtime::Activity {
 public:
  SimulatedActivity(Machine& machine, std::shared_ptr<Thread> thread)
      : machine_(machine), thread_(std::move(thread)) {}
  ~SimulatedActivity() override { machine_.end(*thread_); }
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
    const auto time =
        std::max(machine_.true_time(at.time_since_epoch().count()), machine_.queue_.now());
    if (*due_ == time) return;
    *due_ = time;
    machine_.queue_.at(time, [machine = &machine_, thread = thread_, due = due_, time] {
      if (*due != time || thread->ended) return;
      *due = kNone;
      machine->run([machine, thread] { machine->make_ready(thread); });
    });
  }

 private:
  static constexpr std::int64_t kNone = -1;
  Machine& machine_;
  const std::shared_ptr<Thread> thread_;
  const std::shared_ptr<std::int64_t> due_ = std::make_shared<std::int64_t>(kNone);
};

core::LocalInstant Machine::now() const {
  return core::LocalInstant(core::Duration(shown_at(queue_.now())));
}

core::WallInstant Machine::wall() const {
  return {epoch_ms_ + queue_.now() / kMs + wall_offset_ms};
}

std::int64_t Machine::shown_after(std::int64_t ran_ns) const {
  return ran_ns + ran_ns / kGrain * drift_ppm_ / (1'000'000 / kGrain);
}

std::int64_t Machine::shown_at(std::int64_t true_ns) const {
  return shown_after(ran_until(suspensions_, true_ns));
}

std::int64_t Machine::true_time(std::int64_t shown_ns) const {
  const auto estimate = static_cast<std::int64_t>(static_cast<__int128>(shown_ns) * 1'000'000 /
                                                  (1'000'000 + drift_ppm_));
  std::int64_t ran = std::max<std::int64_t>(estimate / kGrain - 2, 0) * kGrain;
  while (shown_after(ran) < shown_ns) ran += kGrain;
  return true_time_of(suspensions_, ran);
}

/// A thread whose command still hangs owns itself, as a real one does; nobody else ends it.
Machine::~Machine() {
  for (const auto& thread : threads_) {
    if (const auto left = thread.lock()) end(*left);
  }
}

std::shared_ptr<Machine::Thread> Machine::make_thread(Job turn) {
  std::erase_if(threads_, [](const auto& thread) { return thread.expired(); });
  auto thread = std::make_shared<Thread>(Thread{std::move(turn)});
  threads_.push_back(thread);
  return thread;
}

/// What a turn owns may be what ends it: then it is destroyed after it.
void Machine::end(Thread& thread) {
  thread.ended = true;
  if (running_ == &thread) return;
  const auto turn = std::exchange(thread.turn, nullptr);
}

std::unique_ptr<runtime::Activity> Machine::start(Job turn) {
  return std::make_unique<SimulatedActivity>(*this, make_thread(std::move(turn)));
}

std::unique_ptr<runtime::TimedActivity> Machine::start_timed(Job turn) {
  return std::make_unique<SimulatedTimer>(*this, make_thread(std::move(turn)));
}

bool Machine::run_apart(Job job) {
  make_ready(std::make_shared<Thread>(Thread{std::move(job)}));
  return true;
}

void Machine::run(const Job& job) {
  if (killed_) return;
  if (paused_) {
    held_back_.push_back(job);
    return;
  }
  job();
  if (!inside_) run_ready();
}

void Machine::later(std::int64_t span_ns, Job job) {
  queue_.after(span_ns, [this, job = std::move(job)] { run(job); });
}

void Machine::keep_busy(std::int64_t span_ns) {
  if (running_ != nullptr) running_->busy_until = queue_.now() + span_ns;
}

void Machine::suspend() {
  constexpr auto kForNow = std::numeric_limits<std::int64_t>::max() / 2;
  suspensions_.push_back({queue_.now(), kForNow});
  paused_ = suspended_ = true;
}

void Machine::resume() {
  if (suspended_) suspensions_.back().for_ns = queue_.now() - suspensions_.back().from_ns;
  paused_ = suspended_ = false;
  auto held_back = std::move(held_back_);
  held_back_.clear();
  for (const auto& job : held_back) run(job);
}

void Machine::make_ready(const std::shared_ptr<Thread>& thread) {
  if (thread->ready || thread->ended) return;
  thread->ready = true;
  if (thread->busy_until <= queue_.now()) {
    ready_.push_back(thread);
    return;
  }
  busy_.push_back(thread);
  queue_.at(thread->busy_until, [this, thread] {
    run([this, thread] {
      std::erase(busy_, thread);
      ready_.push_back(thread);
    });
  });
}

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
    const auto drawn = ready_.size() == 1 ? 0 : random_.draw() % ready_.size();
    const auto next = ready_.begin() + static_cast<std::ptrdiff_t>(drawn);
    const auto thread = std::move(*next);
    ready_.erase(next);
    run_turn(thread);
  }
  inside_ = false;
}

void Machine::run_turn(const std::shared_ptr<Thread>& thread) {
  thread->ready = false;
  if (thread->ended) return;
  running_ = thread.get();
  thread->turn();
  running_ = nullptr;
  if (thread->ended) end(*thread);
}

}  // namespace leasehold::sim::simulated
