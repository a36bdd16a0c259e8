#include "runtime/handle_state.hpp"

#include <algorithm>
#include <utility>

#include "runtime/driver.hpp"

namespace leasehold::runtime {

HandleState::HandleState(const core::Granted& granted, const LockOptions& options)
    : session_(granted.session),
      name_(granted.name),
      token_(granted.token),
      room_(granted.room),
      slot_(granted.slot),
      options_(options),
      ends_at_(options.max_holding ? granted.sent + *options.max_holding
                                   : core::LocalInstant::max()),
      deadline_(granted.deadline.time_since_epoch().count()) {}

core::LocalInstant HandleState::extended_at(core::LocalInstant sent) const {
  return std::min(core::lease_deadline(sent, options_.expiry, options_.max_drift), ends_at_);
}

HandleState::Left HandleState::left_at(core::LocalInstant instant) {
  const auto now = instant.time_since_epoch().count();
  auto deadline = deadline_.load();
  while (deadline != kOver) {
    if (now < deadline) return {std::chrono::nanoseconds(deadline - now)};
    // The answer "no" must stay: the first question that gets it shuts out late extensions.
    if (deadline_.compare_exchange_weak(deadline, kOver)) return {.just_over = true};
  }
  return {};
}

void HandleState::extend(core::LocalInstant deadline) {
  const auto later = deadline.time_since_epoch().count();
  auto current = deadline_.load();
  while (current != kOver && current < later) {
    if (deadline_.compare_exchange_weak(current, later)) return;
  }
}

bool HandleState::ask_release(Released then) {
  const std::lock_guard lock(mutex_);
  if (release_asked_) return false;
  release_asked_ = true;
  if (then) then_.push_back(std::move(then));
  return true;
}

std::optional<ReleaseResult> HandleState::when_released(Released& then) {
  const std::lock_guard lock(mutex_);
  if (!result_) then_.push_back(std::exchange(then, nullptr));
  return result_;
}

std::vector<HandleState::Released> HandleState::answer_release(ReleaseResult result) {
  const std::lock_guard lock(mutex_);
  result_ = result;
  answered_.notify_all();
  return std::exchange(then_, {});
}

ReleaseResult HandleState::wait_for_release(Executor& executor) {
  std::unique_lock lock(mutex_);
  executor.wait(lock, answered_, core::Duration::max(), [this] { return result_.has_value(); });
  return result_.value_or(ReleaseResult::unknown);
}

std::chrono::nanoseconds Handle::remaining() const {
  if (driver_->forked()) return std::chrono::nanoseconds(0);  // it is the parent's
  const auto left = state_->left_at(driver_->now());
  if (left.just_over) driver_->deadline_seen(state_->session());
  return left.remaining;
}

/// An extension that was under way gives a lease from its own sending. If that is too little,
/// another is asked for; one that was sent after the call began gives all there is.
bool Handle::ensure(std::chrono::milliseconds least) const {
  const core::Duration wanted = std::min(least, kLongestDuration);
  const auto began = driver_->now();
  const auto best = state_->extended_at(began), until = began + state_->operation_timeout();
  const auto enough = [this, wanted] {
    const auto left = remaining();
    return left > core::Duration(0) && left >= wanted;
  };
  bool ensured = enough();
  bool in_vain = began + wanted > best;
  while (!ensured && !in_vain && held()) {
    in_vain = !driver_->extend(*state_, until) || state_->deadline() >= best;
    ensured = enough();
  }
  return ensured;
}

void Handle::begin_release(HandleState::Released then) const {
  if (driver_->forked()) return;
  state_->end();
  if (state_->ask_release(std::move(then))) driver_->release(state_->session());
}

ReleaseResult Handle::release() const {
  if (driver_->forked()) return ReleaseResult::not_owner;
  begin_release();
  return state_->wait_for_release(driver_->executor());
}

core::SessionId Handle::downgrade(
    std::function<void(Result<std::shared_ptr<HandleState>>)> answered) const {
  state_->end();
  const auto reader =
      driver_->acquire(name(), state_->options(), state_->operation_timeout(), std::move(answered),
                       core::kReaders, state_->session());
  begin_release();
  return reader;
}

void Handle::release_async(HandleState::Released done) const {
  state_->end_in_background();
  if (driver_->forked()) {
    if (done) done(ReleaseResult::not_owner);
    return;
  }
  // The callback keeps the driver alive until the release is answered. There is one callback only,
  // and it is destroyed where it is called.
  HandleState::Released tell = [driver = driver_, done = std::move(done)](ReleaseResult result) {
    if (done) done(result);
  };
  if (const auto answered = state_->when_released(tell)) {
    driver_->call_back([tell = std::move(tell), result = *answered] { tell(result); });
    return;
  }
  begin_release();
}

void Handle::let_go() {
  if (!state_->ends_in_background()) {
    release();
    return;
  }
  release_async(nullptr);
  Driver::drop_without_waiting(std::move(driver_));
}

}  // namespace leasehold::runtime
