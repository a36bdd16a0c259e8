#include "runtime/threads/timers.hpp"

namespace leasehold::runtime {

Timers::Timers(std::shared_ptr<Executor> executor, std::shared_ptr<const Clock> clock,
               std::function<void(core::Timer)> on_due)
    : executor_(std::move(executor)), state_(std::make_shared<State>()) {
  state_->clock = std::move(clock);
  state_->on_due = std::move(on_due);
  const std::lock_guard lock(state_->mutex);  // the activity runs at once
  state_->activity = require_started(
      executor_->start_timed([state = state_] { fire_due(*state); }), "timers, or no descriptor");
}

Timers::~Timers() { end_activity(*state_); }

void Timers::State::remove(core::Timer timer) {
  const auto found = set.find(timer);
  if (found == set.end()) return;
  order.erase({found->second, timer});
  set.erase(found);
}

void Timers::State::arm_earliest() {
  if (activity && !order.empty()) activity->wake_at(order.begin()->first);
}

void Timers::set(core::Timer timer, core::LocalInstant at) {
  const std::lock_guard lock(state_->mutex);
  state_->remove(timer);
  state_->set[timer] = at;
  state_->order.emplace(at, timer);
  if (state_->order.begin()->second == timer) state_->arm_earliest();
}

void Timers::clear(core::Timer timer) {
  const std::lock_guard lock(state_->mutex);
  state_->remove(timer);  // the activity wakes for nothing, once
}

void Timers::fire_due(State& state) {
  std::unique_lock lock(state.mutex);
  state.firing = true;
  const auto now = state.clock->now();
  while (!state.stopped && !state.order.empty() && state.order.begin()->first <= now) {
    const auto timer = state.order.begin()->second;
    state.remove(timer);
    lock.unlock();
    state.on_due(timer);
    lock.lock();
  }
  state.firing = false;
  state.arm_earliest();
  state.fired.notify_all();
}

void Timers::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopped = true;
  executor_->wait(lock, state_->fired, core::Duration::max(), [this] { return !state_->firing; });
  state_->set.clear();
  state_->order.clear();
  lock.unlock();
  end_activity(*state_);
}

}  // namespace leasehold::runtime
