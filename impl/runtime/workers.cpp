#include "runtime/workers.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace leasehold::runtime {

struct Workers::Worker {
  std::unique_ptr<core::Connection> connection;
  core::CommandId command = 0;  ///< the one under way, or 0
  bool abandoned = false;       ///< its command was given up; it does not count until it is back
  bool awaits_news = false;     ///< of a change stream: it does not count either
};

/// Shared with the threads, which may outlive the object when a command hangs to the end.
struct Workers::State {
  std::shared_ptr<core::Transport> transport;
  std::function<void(core::CommandId, core::Reply)> on_reply;
  int limit = 1;

  std::mutex mutex;  // protects the rest
  std::condition_variable wanted;
  std::condition_variable ended;
  std::deque<core::Command> queue;
  std::vector<Worker*> workers;
  int idle = 0;
  int replying = 0;  ///< workers inside on_reply
  int unheard = 0;   ///< commands abandoned in a row, with none answered in between
  bool stopped = false;
  bool transport_gone = false;

  /// Workers that neither hang nor wait for news.
  [[nodiscard]] int counted() const {
    return static_cast<int>(std::count_if(workers.begin(), workers.end(), [](const Worker* w) {
      return !w->abandoned && !w->awaits_news;
    }));
  }

  [[nodiscard]] bool in_trouble() const { return unheard >= limit; }
  [[nodiscard]] int allowed() const { return in_trouble() ? 1 : limit; }

  /// Hung threads are bounded too: beyond this, commands wait and time out.
  [[nodiscard]] bool may_start() const {
    return counted() < allowed() && static_cast<int>(workers.size()) < 4 * limit;
  }

  /// Whether a worker may carry the next command.
  [[nodiscard]] bool may_take() const {
    const auto busy = std::count_if(workers.begin(), workers.end(), [](const Worker* w) {
      return w->command != 0 && !w->abandoned && !w->awaits_news;
    });
    return !queue.empty() && busy < allowed();
  }

  core::Command take() {
    auto next = queue.begin();
    if (in_trouble()) {
      next = std::find_if(queue.begin(), queue.end(), [](const core::Command& c) {
        return std::holds_alternative<core::ExtendCommand>(c.body);
      });
      if (next == queue.end()) next = queue.begin();
    }
    core::Command command = std::move(*next);
    queue.erase(next);
    return command;
  }

  void heard() {
    const bool over = in_trouble();
    unheard = 0;
    if (over) wanted.notify_all();
  }

  /// Those that stood in for hung ones go when these are back. One is kept: for a change stream.
  [[nodiscard]] bool too_many() const { return queue.empty() && counted() > limit + 1; }
};

Workers::Workers(std::shared_ptr<core::Transport> transport, int limit,
                 std::function<void(core::CommandId, core::Reply)> on_reply)
    : state_(std::make_shared<State>()) {
  state_->transport = std::move(transport);
  state_->limit = limit;
  state_->on_reply = std::move(on_reply);
}

Workers::~Workers() {
  std::unique_lock lock(state_->mutex);
  state_->stopped = true;
  state_->queue.clear();
  state_->wanted.notify_all();
  for (Worker* worker : state_->workers) {
    if (worker->command != 0) worker->connection->interrupt();
  }
  const auto limit = std::chrono::steady_clock::now() + kStopWait;
  state_->ended.wait_until(lock, limit, [this] { return state_->workers.empty(); });
  state_->ended.wait(lock, [this] { return state_->replying == 0; });
  state_->on_reply = nullptr;
  // A transport says good-bye to its servers, which may hang: not on the caller's time.
  std::thread([state = state_, transport = std::move(state_->transport)]() mutable {
    transport.reset();
    const std::lock_guard done(state->mutex);
    state->transport_gone = true;
    state->ended.notify_all();
  }).detach();
  state_->ended.wait_until(lock, limit, [this] { return state_->transport_gone; });
}

void Workers::submit(core::Command command) {
  const std::lock_guard lock(state_->mutex);
  if (state_->stopped) return;
  state_->queue.push_back(std::move(command));
  if (state_->idle > 0) {
    state_->wanted.notify_one();
  } else if (state_->may_start()) {
    start_one(state_);
  }
}

void Workers::start_one(const std::shared_ptr<State>& state) {
  auto* worker = new Worker;  // owned by its thread; listed at once, so that the limit holds
  state->workers.push_back(worker);
  std::thread([state, worker, transport = state->transport]() mutable {
    worker->connection = transport->connect();
    transport.reset();
    const std::unique_ptr<Worker> owned(worker);
    run(state, *owned);
  }).detach();
}

void Workers::abandon(core::CommandId command) {
  const std::lock_guard lock(state_->mutex);
  const auto queued = std::find_if(state_->queue.begin(), state_->queue.end(),
                                   [&](const auto& c) { return c.id == command; });
  if (queued != state_->queue.end()) {
    state_->queue.erase(queued);
    return;
  }
  const auto busy = std::find_if(state_->workers.begin(), state_->workers.end(),
                                 [&](const Worker* w) { return w->command == command; });
  if (busy == state_->workers.end()) return;
  (*busy)->abandoned = true;
  (*busy)->connection->interrupt();
  ++state_->unheard;
  if (state_->queue.empty()) return;
  if (state_->idle > 0) {
    state_->wanted.notify_one();
  } else if (state_->may_start()) {
    start_one(state_);
  }
}

void Workers::run(const std::shared_ptr<State>& state, Worker& self) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    ++state->idle;
    state->wanted.wait(lock, [&] { return state->stopped || state->may_take(); });
    --state->idle;
    if (state->stopped) break;
    const core::Command command = state->take();
    self.command = command.id;
    const auto* stream = std::get_if<core::StreamCommand>(&command.body);
    self.awaits_news = stream != nullptr && stream->step == core::StreamCommand::Step::next;
    if (self.awaits_news && !state->queue.empty() && state->may_start()) start_one(state);
    lock.unlock();
    core::Reply reply = self.connection->execute(command);
    lock.lock();
    self.command = 0;
    self.awaits_news = false;
    const bool wanted = !self.abandoned && !state->stopped;
    self.abandoned = false;
    if (wanted) {
      state->heard();
      ++state->replying;
      lock.unlock();
      state->on_reply(command.id, std::move(reply));
      lock.lock();
      --state->replying;
      state->ended.notify_all();
    }
    if (state->too_many()) break;
  }
  std::erase(state->workers, &self);
  state->ended.notify_all();
}

}  // namespace leasehold::runtime
