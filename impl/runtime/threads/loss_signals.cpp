#include "runtime/threads/loss_signals.hpp"

namespace leasehold::runtime {

bool LossSignals::signal(std::shared_ptr<HandleState> handle) {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.push_back(std::move(handle));
  if (see_to_it(executor_, state_)) return true;
  if (state_->threads > 0) return true;  // one of them comes for it, if later
  state_->waiting.pop_back();
  return false;
}

/// REQUIRES: the mutex is held.
bool LossSignals::see_to_it(const std::shared_ptr<Executor>& executor,
                            const std::shared_ptr<State>& state) {
  if (state->waiting.empty() || state->coming > 0 || state->threads == kMostThreads) return true;
  if (!executor->run_apart([executor, state] { signal_all(executor, state); })) return false;
  ++state->coming;
  ++state->threads;
  return true;
}

void LossSignals::signal_all(const std::shared_ptr<Executor>& executor,
                             const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  --state->coming;
  while (!state->waiting.empty()) {
    auto handle = std::move(state->waiting.front());
    state->waiting.pop_front();
    see_to_it(executor, state);
    lock.unlock();
    handle->signal_lost();
    handle.reset();
    lock.lock();
  }
  --state->threads;
  state->done.notify_all();
}

void LossSignals::stop() {
  std::unique_lock lock(state_->mutex);
  executor_->wait(lock, state_->done, kLongestCall, [this] { return state_->threads == 0; });
}

}  // namespace leasehold::runtime
