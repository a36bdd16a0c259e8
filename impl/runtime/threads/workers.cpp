#include "runtime/threads/workers.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace leasehold::runtime {
namespace {

class WaitingCarrier final : public Carrier {
 public:
  explicit WaitingCarrier(std::unique_ptr<core::Connection> connection)
      : connection_(std::move(connection)) {}

  void carry(core::Command command, std::function<void(core::Reply)> done) override {
    done(connection_->execute(command));
  }
  void interrupt(core::CommandId command) noexcept override { connection_->interrupt(command); }

 private:
  const std::unique_ptr<core::Connection> connection_;
};

}  // namespace

Carriers carriers_of(std::shared_ptr<core::Transport> transport) {
  return [transport = std::move(transport)] {
    return std::make_unique<WaitingCarrier>(transport->connect());
  };
}

/// Protected by the state's mutex, but for the carrier's own work.
struct Workers::Worker {
  std::unique_ptr<Activity> activity;
  std::unique_ptr<Carrier> carrier;    ///< made by its own thread, for its first command
  core::CommandId command = 0;         ///< given to it or under way, or 0: it is idle
  std::optional<core::Command> given;  ///< not begun yet
  bool abandoned = false;    ///< its command was given up; it does not count until it is back
  bool apart = false;        ///< its command may take long: it does not count either
  bool leaving = false;      ///< its carrier is about to go: it gets no command any more
  bool replying = false;     ///< it is inside on_reply: a command that it gets waits for that
};

/// Shared with the threads, which may outlive the object when a command hangs to the end.
struct Workers::State {
  std::shared_ptr<Executor> executor;
  std::function<void(core::CommandId, core::Reply)> on_reply;
  int limit = 1;

  std::mutex mutex;  // protects the rest
  std::condition_variable ended;
  Carriers carriers;
  std::deque<core::Command> queue;
  std::vector<std::shared_ptr<Worker>> workers;
  int replying = 0;  ///< workers inside on_reply
  bool own_next = false;  ///< a command that is no core's, if there is one
  int unheard = 0;   ///< commands abandoned in a row, with none answered in between
  bool stopped = false;

  [[nodiscard]] bool counts(const Worker& w) const {
    return !w.abandoned && !w.apart && !w.leaving;
  }
  /// Workers that neither hang, nor carry what may take long, nor leave.
  [[nodiscard]] int counted() const {
    const auto all = std::ranges::count_if(workers, [this](const auto& w) { return counts(*w); });
    return static_cast<int>(all);
  }

  [[nodiscard]] bool in_trouble() const { return unheard >= limit; }
  [[nodiscard]] int allowed() const { return in_trouble() ? 1 : limit; }

  /// Hung threads are bounded too: beyond this, commands wait and time out.
  [[nodiscard]] bool may_start() const {
    return counted() < allowed() && static_cast<int>(workers.size()) < 4 * limit;
  }

  /// Whether one more command may be carried.
  [[nodiscard]] bool may_carry() const {
    const auto busy = std::ranges::count_if(workers, [this](const auto& w) {
      return w->command != 0 && counts(*w);
    });
    return !queue.empty() && busy < allowed();
  }

  /// One that can begin at once, if there is one.
  [[nodiscard]] std::shared_ptr<Worker> idle() const {
    std::shared_ptr<Worker> soon;
    for (const auto& w : workers) {
      if (w->command != 0 || w->leaving) continue;
      if (!w->replying) return w;
      soon = w;
    }
    return soon;
  }

  /// The core sends no more than there are workers. Reads come without a bound, and take turns with
  /// the core's commands, because the time of those runs.
  core::Command take() {
    const auto first = [this](const auto& wanted) {
      const auto found = std::ranges::find_if(queue, wanted);
      return found == queue.end() ? queue.begin() : found;
    };
    const auto next = in_trouble() ? first([](const core::Command& c) {
      return std::holds_alternative<core::ExtendCommand>(c.body);
    })
                                   : first([this](const core::Command& c) {
      return (c.id >= kOwnIds) == own_next;
    });
    own_next = next->id < kOwnIds;
    core::Command command = std::move(*next);
    queue.erase(next);
    return command;
  }

  /// Workers that replaced hung ones go when these are back. One is kept, for a change stream.
  [[nodiscard]] bool too_many() const { return queue.empty() && counted() > limit + 1; }
};

Workers::Workers(std::shared_ptr<Executor> executor, Carriers carriers, int limit,
                 std::function<void(core::CommandId, core::Reply)> on_reply)
    : executor_(executor), state_(std::make_shared<State>()) {
  state_->executor = std::move(executor);
  state_->carriers = std::move(carriers);
  state_->limit = limit;
  state_->on_reply = std::move(on_reply);
  const std::lock_guard lock(state_->mutex);
  (void)require_started(start_one(state_), "commands");
}

/// Gives commands to workers as long as both are there. REQUIRES: the mutex is held.
void Workers::dispatch(const Shared& state) {
  while (!state->stopped && state->may_carry()) {
    auto worker = state->idle();
    if (!worker && state->may_start()) worker = start_one(state);
    if (!worker) return;
    worker->given = state->take();
    worker->command = worker->given->id;
    worker->apart = may_take_long(worker->given->body);
    worker->activity->wake();
  }
}

/// Null where no thread is available: the command goes on waiting for another worker.
std::shared_ptr<Workers::Worker> Workers::start_one(const Shared& state) {
  auto worker = std::make_shared<Worker>();
  worker->activity = state->executor->start([state, worker] { turn(state, worker); });
  if (!worker->activity) return nullptr;
  state->workers.push_back(worker);
  return worker;
}

void Workers::submit(core::Command command) {
  const std::lock_guard lock(state_->mutex);
  if (state_->stopped) return;
  state_->queue.push_back(std::move(command));
  dispatch(state_);
}

void Workers::abandon(core::CommandId command) {
  const std::lock_guard lock(state_->mutex);
  if (std::erase_if(state_->queue, [&](const auto& c) { return c.id == command; }) > 0) {
    // It had no worker. Those that make a connection for what was given up end now.
    for (const auto& w : state_->workers) {
      if (w->abandoned && w->carrier) w->carrier->interrupt(w->command);
    }
    return;
  }
  const auto is_busy_with_it = [command](const auto& w) { return w->command == command; };
  const auto busy = std::ranges::find_if(state_->workers, is_busy_with_it);
  if (busy == state_->workers.end()) return;
  Worker& worker = **busy;
  if (worker.given) {  // its thread has not come to it
    worker.given.reset();
    worker.command = 0;
    worker.apart = false;
  } else {
    worker.abandoned = true;
    if (worker.carrier) worker.carrier->interrupt(command);
    ++state_->unheard;
  }
  dispatch(state_);
}

void Workers::turn(const Shared& state, const std::shared_ptr<Worker>& self) {
  std::unique_lock lock(state->mutex);
  if (self->leaving) {
    lock.unlock();
    return leave(state, self);
  }
  if (!self->given) return;
  core::Command command = std::move(*self->given);
  self->given.reset();
  if (!self->carrier) {
    const auto connect = state->carriers;
    lock.unlock();
    auto carrier = connect();
    lock.lock();
    self->carrier = std::move(carrier);
  }
  const bool wanted = !self->abandoned && !state->stopped;
  lock.unlock();
  if (!wanted) return answered(state, self, command.id, {});
  const auto id = command.id;
  self->carrier->carry(std::move(command), [state, self, id](core::Reply reply) {
    answered(state, self, id, std::move(reply));
  });
}

void Workers::answered(const Shared& state, const std::shared_ptr<Worker>& self,
                       core::CommandId command, core::Reply reply) {
  std::unique_lock lock(state->mutex);
  const bool wanted = !self->abandoned && !state->stopped;
  self->command = 0;
  self->abandoned = self->apart = false;
  if (wanted) {
    state->unheard = 0;
    ++state->replying;
    self->replying = true;
    dispatch(state);
    lock.unlock();
    state->on_reply(command, std::move(reply));
    lock.lock();
    --state->replying;
    self->replying = false;
  }
  const bool idle = self->command == 0;
  if (idle && (state->stopped || state->too_many())) {
    leave_soon(*self);
  } else {
    dispatch(state);
  }
  state->ended.notify_all();
}

/// It leaves in a turn of its own, because its carrier may be in the middle of a call.
/// REQUIRES: the mutex is held.
void Workers::leave_soon(Worker& worker) {
  worker.leaving = true;
  worker.activity->wake();
}

/// A worker stays one until its carrier has gone, because the carrier's end may talk to a server.
void Workers::leave(const Shared& state, const std::shared_ptr<Worker>& self) {
  self->carrier.reset();
  const std::lock_guard lock(state->mutex);
  std::erase(state->workers, self);
  self->activity.reset();  // its thread ends after this turn
  state->ended.notify_all();
}

void Workers::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopped = true;
  state_->queue.clear();
  for (const auto& worker : state_->workers) {
    if (worker->given || worker->command == 0) {
      worker->given.reset();
      leave_soon(*worker);
    } else if (worker->carrier) {
      for (int twice = 0; twice < 2; ++twice) worker->carrier->interrupt(worker->command);
    }
  }
  executor_->wait(lock, state_->ended, kStopWait, [this] { return state_->workers.empty(); });
  // Workers that are to leave and had no turn yet: with a single thread they never get one.
  std::erase_if(state_->workers, [](const auto& worker) {
    if (worker->leaving) worker->activity.reset();
    return worker->leaving;
  });
  executor_->wait(lock, state_->ended, core::Duration::max(),
                  [this] { return state_->replying == 0; });
  state_->on_reply = nullptr;
  // The end of a transport talks to its servers, which may hang: another thread waits for that.
  const auto gone = std::make_shared<bool>(false);
  auto carriers = std::make_shared<Carriers>(std::move(state_->carriers));
  state_->carriers = nullptr;
  const bool apart = executor_->run_apart([state = state_, carriers, gone] {
    *carriers = nullptr;
    const std::lock_guard done(state->mutex);
    *gone = true;
    state->ended.notify_all();
  });
  carriers.reset();
  if (apart) executor_->wait(lock, state_->ended, kStopWait, [&] { return *gone; });
}

}  // namespace leasehold::runtime
