#include "runtime/notifier.hpp"

#include <thread>

namespace leasehold::runtime {
namespace {
/// The state whose callbacks this thread runs, if it is a notifier's.
thread_local const void* running_for = nullptr;
}  // namespace

Notifier::Notifier() {
  std::thread([state = state_] { run(state); }).detach();
}

Notifier::~Notifier() {
  std::unique_lock lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
  if (running_for == state_.get()) return;  // our own callback drops us; the thread ends by itself
  state_->changed.wait(lock, [this] { return state_->finished; });
}

void Notifier::post(std::function<void()> callback) {
  const std::lock_guard lock(state_->mutex);
  state_->queue.push_back(std::move(callback));
  state_->changed.notify_all();
}

void Notifier::run(const std::shared_ptr<State>& state) {
  running_for = state.get();
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->stopped || !state->queue.empty(); });
    if (state->queue.empty()) break;
    {
      const auto callback = std::move(state->queue.front());
      state->queue.pop_front();
      lock.unlock();
      callback();
    }  // what the callback owned is destroyed before the lock is taken again
    lock.lock();
  }
  state->finished = true;
  state->changed.notify_all();
}

}  // namespace leasehold::runtime
