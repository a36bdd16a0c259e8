#include "sim/virtual/machine.hpp"

#include <algorithm>
#include <limits>
#include <semaphore>
#include <thread>
#include <utility>

namespace leasehold::sim::simulated {

core::LocalInstant MachineClock::now() const {
  return core::LocalInstant(core::Duration(shown_at(queue_.now())));
}

core::WallInstant MachineClock::wall() const {
  return {epoch_ms_ + queue_.now() / kMs + wall_offset_ms};
}

/// In whole grains and without floating point: a clock that drifts shows the same on every machine.
std::int64_t MachineClock::shown_after(std::int64_t ran_ns) const {
  return ran_ns + ran_ns / kGrain * drift_ppm_ / (1'000'000 / kGrain);
}

std::int64_t MachineClock::shown_at(std::int64_t true_ns) const {
  return shown_after(ran_until(suspensions_, true_ns));
}

std::int64_t MachineClock::true_time(std::int64_t shown_ns) const {
  // The inverse is off by rounding; two grains below it is certainly not too late, and from there
  // the first grain that shows enough is a few steps away. 128 bits, for ns times a million
  // overflow 64 after a few hours.
  const auto estimate = static_cast<std::int64_t>(static_cast<__int128>(shown_ns) * 1'000'000 /
                                                  (1'000'000 + drift_ppm_));
  std::int64_t ran = std::max<std::int64_t>(estimate / kGrain - 2, 0) * kGrain;
  while (shown_after(ran) < shown_ns) ran += kGrain;
  return true_time_of(suspensions_, ran);
}

void MachineClock::stand_still() {
  // For as long as it lasts its end is not known. Half of the range, so that adding to it cannot
  // overflow.
  constexpr auto kForNow = std::numeric_limits<std::int64_t>::max() / 2;
  suspensions_.push_back({queue_.now(), kForNow});
}

void MachineClock::go_on() {
  suspensions_.back().for_ns = queue_.now() - suspensions_.back().from_ns;
}

/// A thread of the operating system, because it must keep its stack while it waits. It and the
/// machine's own pass the turn to each other, so one of the two runs at a time.
class Machine::UserThread {
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
  static thread_local UserThread* current;  ///< null on the machine's thread

 private:
  const Wait* wait_ = nullptr;
  std::int64_t waits_ = 0;
  bool over_ = false;
  std::binary_semaphore its_turn_{0}, back_{0};
  std::thread thread_;  // last: it uses the rest
};

thread_local Machine::UserThread* Machine::UserThread::current = nullptr;

class Machine::SimulatedActivity final : public runtime::Activity, public runtime::TimedActivity {
 public:
  SimulatedActivity(Machine& machine, std::shared_ptr<Thread> thread)
      : machine_(machine), thread_(std::move(thread)) {}
  ~SimulatedActivity() override { machine_.end(*thread_); }
  // Without `run`: the turn or job that calls this lets all ready threads run when it is over.
  void wake() override { machine_.make_ready(thread_); }

  /// The event of a time asked for before still comes; it finds that another holds.
  void wake_at(core::LocalInstant at) override {
    // Rounded up to the grain by `true_time`: never before the clock shows that, so a deadline that
    // has passed has passed. That may be one grain late, which the checkers allow.
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

/// A thread with a hanging command owns itself, as a real one does; nothing else ends it.
Machine::~Machine() {
  end_users();
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
  return std::make_unique<SimulatedActivity>(*this, make_thread(std::move(turn)));
}

/// A thread for one turn.
bool Machine::run_apart(Job job) {
  // Owned by the queue of those that are ready, and gone after its turn.
  make_ready(std::make_shared<Thread>(Thread{std::move(job)}));
  return true;
}

void Machine::start_user(Job job) {
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

bool Machine::wait(std::unique_lock<std::mutex>& lock, std::condition_variable&,
                   core::Duration limit, const std::function<bool()>& met) {
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

/// Those whose wait is over because of the turn before.
void Machine::wake_users() {
  for (const auto& user : users_) {
    if (!user->over() && user->waits() && !user->turns->ready && user->may_go_on()) {
      make_ready(user->turns);
    }
  }
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
  end_users();
}

void Machine::end_users() {
  ends_ = true;
  for (const auto& user : users_) {
    while (!user->over()) user->run();
    end(*user->turns);
  }
  users_.clear();
}

void Machine::run_ready() {
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
