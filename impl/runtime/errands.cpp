#include "runtime/errands.hpp"

#include <utility>

namespace leasehold::runtime {

Errands::Errands(bool available, std::shared_ptr<const Clock> clock,
                 std::shared_ptr<Executor> executor, Workers& workers, Timers& timers,
                 Callbacks& callbacks)
    : available_(available),
      clock_(std::move(clock)),
      executor_(std::move(executor)),
      workers_(workers),
      timers_(timers),
      callbacks_(callbacks) {}

core::Reply Errands::ask(decltype(core::Command::body) body, std::chrono::milliseconds timeout) {
  core::Reply none{.message = "no reply within " + std::to_string(timeout.count()) + " ms"};
  if (!available_) {
    return {.outcome = core::Outcome::configuration,
            .message = "the documents of published locks are their own"};
  }
  std::unique_lock lock(mutex_);
  const auto id = ++last_;
  asked_[id] = std::nullopt;
  workers_.submit({id, timeout, std::move(body)});
  executor_->wait(lock, answered_, timeout, [&] { return asked_.at(id).has_value(); });
  auto reply = std::move(asked_.extract(id).mapped());
  if (!reply) workers_.abandon(id);
  return std::move(reply).value_or(std::move(none));
}

/// REQUIRES: the mutex is held.
std::uint64_t Errands::expect(std::function<void(core::Reply)> done, core::LocalInstant at) {
  const auto id = ++last_;
  expected_[id] = std::move(done);
  timers_.set({core::Timer::Kind::command_timeout, id}, at);
  return id;
}

void Errands::look_at(std::vector<std::string> names, std::chrono::milliseconds timeout,
                      std::function<void(core::Reply)> done) {
  const std::lock_guard lock(mutex_);
  const auto id = expect(std::move(done), clock_->now() + timeout);
  workers_.submit({id, timeout, core::ReadHoldersCommand{std::move(names), true}});
}

std::uint64_t Errands::call_at(core::LocalInstant at, Callbacks::Function function) {
  const std::lock_guard lock(mutex_);
  return expect([function = std::move(function)](const core::Reply&) { function(); }, at);
}

/// A function may own what ends a driver: it is destroyed where it would have been called.
void Errands::forget(std::uint64_t call) {
  const std::lock_guard lock(mutex_);
  timers_.clear({core::Timer::Kind::command_timeout, call});
  auto forgotten = expected_.extract(call);
  if (forgotten) callbacks_.post([kept = std::move(forgotten.mapped())] {});
}

void Errands::replied(core::CommandId command, core::Reply reply) {
  const std::lock_guard lock(mutex_);
  const auto asked = asked_.find(command);
  if (asked == asked_.end()) return end(command, std::move(reply));
  asked->second = std::move(reply);
  answered_.notify_all();
}

void Errands::due(std::uint64_t errand) {
  const std::lock_guard lock(mutex_);
  workers_.abandon(errand);  // a call has no command
  end(errand, {.message = "no reply in time"});
}

/// REQUIRES: the mutex is held. A reply that no caller waits for any more is dropped.
void Errands::end(std::uint64_t errand, core::Reply reply) {
  auto ended = expected_.extract(errand);
  if (!ended) return;
  timers_.clear({core::Timer::Kind::command_timeout, errand});
  callbacks_.post([done = std::move(ended.mapped()), reply = std::move(reply)] { done(reply); });
}

}  // namespace leasehold::runtime
