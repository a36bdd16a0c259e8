#include "runtime/threads/callbacks.hpp"

#include <exception>

namespace leasehold::runtime {

Callbacks::Callbacks(std::shared_ptr<Executor> executor, std::function<void(const char*)> threw)
    : executor_(std::move(executor)) {
  const std::lock_guard lock(state_->mutex);
  state_->threw = std::move(threw);
  state_->activity = require_started(
      executor_->start([state = state_] { call_next(*state); }), "callbacks");
}

Callbacks::~Callbacks() { end_activity(*state_); }

void Callbacks::post(Function function) {
  const std::lock_guard lock(state_->mutex);
  state_->queue.push_back(std::move(function));
  state_->activity->wake();
}

/// Calls one function a turn, because in the virtual world a function may keep its thread busy for
/// a while, as a user's may, and the functions behind it have to wait.
void Callbacks::call_next(State& state) {
  std::unique_lock lock(state.mutex);
  if (state.stopped || state.queue.empty()) return;
  {
    const auto function = std::move(state.queue.front());
    state.queue.pop_front();
    state.calling = true;
    lock.unlock();
    call(state, function);
  }  // what the function owned is destroyed before the lock is taken again
  lock.lock();
  state.calling = false;
  ++state.calls;
  if (state.activity && !state.queue.empty()) state.activity->wake();
  state.called.notify_all();
}

void Callbacks::call(State& state, const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    state.threw(error.what());
  } catch (...) {
    state.threw("an object that is no std::exception");
  }
}

void Callbacks::call_apart(Function function) {
  const std::lock_guard lock(state_->mutex);
  state_->apart.push_back(std::move(function));
  if (see_to_apart(executor_, state_) || state_->threads > 0) return;  // one comes for it, if later
  state_->queue.push_back(std::move(state_->apart.back()));
  state_->apart.pop_back();
  state_->activity->wake();
}

/// REQUIRES: the mutex is held.
bool Callbacks::see_to_apart(const std::shared_ptr<Executor>& executor, const Shared& state) {
  if (state->apart.empty() || state->coming > 0 || state->threads == kMostThreads) return true;
  if (!executor->run_apart([executor, state] { call_all_apart(executor, state); })) return false;
  ++state->coming;
  ++state->threads;
  return true;
}

void Callbacks::call_all_apart(const std::shared_ptr<Executor>& executor, const Shared& state) {
  std::unique_lock lock(state->mutex);
  --state->coming;
  while (!state->apart.empty()) {
    {
      const auto function = std::move(state->apart.front());
      state->apart.pop_front();
      see_to_apart(executor, state);
      lock.unlock();
      call(*state, function);
    }
    lock.lock();
  }
  --state->threads;
  state->called.notify_all();
}

void Callbacks::stop() {
  std::unique_lock lock(state_->mutex);
  executor_->wait(lock, state_->called, kLongestCall, [this] { return state_->threads == 0; });
  const auto idle = [this] { return state_->queue.empty() && !state_->calling; };
  std::uint64_t before = 0;
  do {
    before = state_->calls;
    executor_->wait(lock, state_->called, kLongestCall,
                    [&] { return idle() || state_->calls != before; });
  } while (!idle() && state_->calls != before);
  state_->stopped = true;
  lock.unlock();
  end_activity(*state_);
}

}  // namespace leasehold::runtime
