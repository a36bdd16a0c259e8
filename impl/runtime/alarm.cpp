#include "runtime/alarm.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "core/check.hpp"

namespace leasehold::runtime {
namespace {

void drain(int descriptor) {
  std::uint64_t count = 0;
  while (read(descriptor, &count, sizeof count) > 0) {
  }
}

}  // namespace

Alarm::Alarm(std::shared_ptr<const Clock> clock, std::function<void(core::Timer)> on_fire)
    : clock_(std::move(clock)),
      on_fire_(std::move(on_fire)),
      timer_fd_(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  LEASEHOLD_CHECK(timer_fd_ >= 0 && wake_fd_ >= 0);
  thread_ = std::thread([this] { run(); });
}

Alarm::~Alarm() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  const std::uint64_t one = 1;
  LEASEHOLD_CHECK(write(wake_fd_, &one, sizeof one) == sizeof one);
  thread_.join();
  close(timer_fd_);
  close(wake_fd_);
}

void Alarm::set(core::Timer timer, core::LocalInstant at) {
  const std::lock_guard lock(mutex_);
  const bool first = entries_.empty() || at < entries_.top().at;
  entries_.push({at, timer});
  if (first) arm(at);
}

void Alarm::arm(core::LocalInstant at) {
  // Relative to the clock in use, which in a simulation need not be the kernel's. Zero would
  // disarm.
  const auto left = std::max<core::Duration>(at - clock_->now(), std::chrono::nanoseconds(1));
  itimerspec spec{};
  spec.it_value.tv_sec = left.count() / 1'000'000'000;
  spec.it_value.tv_nsec = left.count() % 1'000'000'000;
  LEASEHOLD_CHECK(timerfd_settime(timer_fd_, 0, &spec, nullptr) == 0);
}

std::vector<core::Timer> Alarm::take_due() {
  std::vector<core::Timer> due;
  const auto now = clock_->now();
  while (!entries_.empty() && entries_.top().at <= now) {
    due.push_back(entries_.top().timer);
    entries_.pop();
  }
  if (!entries_.empty()) arm(entries_.top().at);
  return due;
}

void Alarm::run() {
  for (;;) {
    pollfd waits[2] = {{timer_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
    poll(waits, 2, -1);
    drain(timer_fd_);
    std::vector<core::Timer> due;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      due = take_due();
    }
    for (const auto& timer : due) on_fire_(timer);
  }
}

}  // namespace leasehold::runtime
