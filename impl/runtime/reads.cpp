#include "runtime/reads.hpp"

#include <utility>

namespace leasehold::runtime {

Reads::Reads(bool available, std::shared_ptr<const Clock> clock, std::shared_ptr<Executor> executor,
             Workers& workers, Timers& timers, Callbacks& callbacks)
    : available_(available),
      clock_(std::move(clock)),
      executor_(std::move(executor)),
      workers_(workers),
      timers_(timers),
      callbacks_(callbacks) {}

core::Reply Reads::ask(decltype(core::Command::body) body, std::chrono::milliseconds timeout) {
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

void Reads::look_at(std::vector<std::string> names, std::chrono::milliseconds timeout,
                    std::function<void(core::Reply)> done) {
  const std::lock_guard lock(mutex_);
  const auto id = ++last_;
  looks_[id] = std::move(done);
  timers_.set({core::Timer::Kind::command_timeout, id}, clock_->now() + timeout);
  workers_.submit({id, timeout, core::ReadHoldersCommand{std::move(names), true}});
}

void Reads::replied(core::CommandId command, core::Reply reply) {
  const std::lock_guard lock(mutex_);
  const auto asked = asked_.find(command);
  if (asked == asked_.end()) return looked(command, std::move(reply));
  asked->second = std::move(reply);
  answered_.notify_all();
}

void Reads::timed_out(core::CommandId command) {
  const std::lock_guard lock(mutex_);
  workers_.abandon(command);
  looked(command, {.message = "no reply in time"});
}

/// Under the lock. A reply that no caller waits for any more is dropped.
void Reads::looked(core::CommandId command, core::Reply reply) {
  auto look = looks_.extract(command);
  if (!look) return;
  timers_.clear({core::Timer::Kind::command_timeout, command});
  callbacks_.post([done = std::move(look.mapped()), reply = std::move(reply)] { done(reply); });
}

}  // namespace leasehold::runtime
