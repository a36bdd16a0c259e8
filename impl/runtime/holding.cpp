#include "runtime/holding.hpp"

#include <algorithm>

#include "runtime/driver.hpp"

namespace leasehold::runtime {

Holding::Holding(std::shared_ptr<Driver> driver, core::SessionId session, FencingToken token,
                 core::LocalInstant deadline)
    : driver_(std::move(driver)),
      session_(session),
      token_(token),
      deadline_(deadline.time_since_epoch().count()) {}

bool Holding::held() { return remaining() > std::chrono::nanoseconds(0); }

std::chrono::nanoseconds Holding::remaining() {
  if (driver_->forked()) return std::chrono::nanoseconds(0);  // it is the parent's
  auto deadline = deadline_.load();
  const auto now = driver_->now().time_since_epoch().count();
  while (deadline != kOver) {
    if (now < deadline) return std::chrono::nanoseconds(deadline - now);
    // The answer "no" must stay: whoever first gives it closes the door to late extensions.
    if (deadline_.compare_exchange_weak(deadline, kOver)) {
      driver_->deadline_seen(session_);
      break;
    }
  }
  return std::chrono::nanoseconds(0);
}

void Holding::extend(core::LocalInstant deadline) {
  const auto later = deadline.time_since_epoch().count();
  auto current = deadline_.load();
  while (current != kOver && current < later) {
    if (deadline_.compare_exchange_weak(current, later)) return;
  }
}

ReleaseResult Holding::release() {
  if (driver_->forked()) return ReleaseResult::not_owner;
  end();
  std::unique_lock lock(mutex_);
  if (!release_asked_) {
    release_asked_ = true;
    lock.unlock();
    driver_->release(session_);
    lock.lock();
  }
  answered_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

void Holding::answer_release(ReleaseResult result) {
  const std::lock_guard lock(mutex_);
  result_ = result;
  answered_.notify_all();
}

}  // namespace leasehold::runtime
