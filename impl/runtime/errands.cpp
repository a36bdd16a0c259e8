#include "runtime/errands.hpp"

#include <utility>

namespace leasehold::runtime {

Errands::Errands(bool available, std::shared_ptr<Executor> executor, Workers& workers)
    : available_(available), executor_(std::move(executor)), workers_(workers) {}

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

void Errands::replied(core::CommandId command, core::Reply reply) {
  const std::lock_guard lock(mutex_);
  const auto asked = asked_.find(command);
  if (asked == asked_.end()) return;  // no caller waits for it any more
  asked->second = std::move(reply);
  answered_.notify_all();
}

}  // namespace leasehold::runtime
