#include "runtime/later_calls.hpp"

#include <utility>

namespace leasehold::runtime {

std::uint64_t LaterCalls::add(core::LocalInstant at, Callbacks::Function function) {
  const std::lock_guard lock(mutex_);
  const auto id = ++last_;
  calls_[id] = std::move(function);
  timers_.set({core::Timer::Kind::attempt, id}, at);
  return id;
}

/// A function may own what ends a driver: it is destroyed where it would have been called.
void LaterCalls::forget(std::uint64_t call) {
  const std::lock_guard lock(mutex_);
  timers_.clear({core::Timer::Kind::attempt, call});
  auto forgotten = calls_.extract(call);
  if (forgotten) callbacks_.post([kept = std::move(forgotten.mapped())] {});
}

void LaterCalls::due(std::uint64_t call) {
  const std::lock_guard lock(mutex_);
  auto found = calls_.extract(call);
  if (found) callbacks_.post(std::move(found.mapped()));
}

}  // namespace leasehold::runtime
