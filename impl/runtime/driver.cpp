#include "runtime/driver.hpp"

#include <algorithm>

namespace leasehold::runtime {

Driver::Driver(DriverParts parts)
    : clock_(parts.clock),
      entropy_(std::move(parts.entropy)),
      on_warning_(std::move(parts.on_warning)),
      on_event_(std::move(parts.on_event)),
      observer_(std::move(parts.observer)),
      core_(std::move(parts.provider)),
      alarm_(parts.clock, [this](core::Timer timer) { step(core::TimerFired{timer}); }),
      workers_(std::move(parts.transport), parts.workers,
               [this](core::CommandId command, core::Reply reply) {
                 step(core::ReplyArrived{command, std::move(reply)});
               }) {}

Driver::~Driver() = default;

core::SessionId Driver::acquire(const std::string& name, const LockOptions& options,
                                std::optional<std::chrono::milliseconds> timeout, Done done) {
  if (forked()) {
    done(Error{
        ErrorKind::shut_down, 0,
        "lock '" + name + "': this process is a child of fork; it needs a provider of its own"});
    return 0;
  }
  core::AcquireAsked asked{0, name, options, std::nullopt, false};
  if (timeout && timeout->count() <= 0) {
    asked.single_attempt = true;
  } else if (timeout) {
    asked.give_up_at = now() + std::min(*timeout, kLongestDuration);
  }
  {
    const std::lock_guard lock(mutex_);
    asked.session = ++last_session_;
    acquiring_[asked.session] = std::move(done);
    longest_timeout_ = std::max(longest_timeout_, options.effective_operation_timeout());
  }
  step(asked);
  return asked.session;
}

void Driver::cancel(core::SessionId session) { step(core::CancelAsked{session}); }
void Driver::release(core::SessionId session) { step(core::ReleaseAsked{session}); }
void Driver::deadline_seen(core::SessionId session) { step(core::DeadlineSeen{session}); }

void Driver::close() {
  if (forked()) return;
  step(core::CloseAsked{});
  std::unique_lock lock(mutex_);
  stepped_.wait_for(lock, longest_timeout_, [this] { return core_->removals_left() == 0; });
  const auto left = core_->removals_left();
  if (left == 0) return;
  apply(core::Warned{"the provider was destroyed with " + std::to_string(left) +
                     " clean-ups unfinished; those locks free themselves like a crashed holder's"});
}

void Driver::step(const core::Event& event) {
  if (forked()) return;  // the lock may be held by a thread that is not here
  const std::lock_guard lock(mutex_);
  effects_.clear();
  const auto at = now();
  core_->next(event, {at, clock_->wall()}, *entropy_, effects_);
  if (observer_) observer_->step(event, effects_, at);
  if (on_event_) tell(event, at);
  for (auto& effect : effects_) {
    std::visit([this](auto& e) { apply(e); }, effect);
  }
  stepped_.notify_all();
}

void Driver::tell(const core::Event& event, core::LocalInstant at) {
  for (auto& told : teller_.tell(event, effects_, at)) {
    notifier_.post([on_event = on_event_, told = std::move(told)] { on_event(told); });
  }
}

void Driver::apply(core::Send& effect) { workers_.submit(std::move(effect.command)); }
void Driver::apply(const core::Abandon& effect) { workers_.abandon(effect.command); }
void Driver::apply(const core::SetTimer& effect) { alarm_.set(effect.timer, effect.at); }

void Driver::apply(const core::Granted& effect) {
  auto holding =
      std::make_shared<Holding>(shared_from_this(), effect.session, effect.token, effect.deadline);
  holding_[effect.session] = holding;
  auto waiting = acquiring_.extract(effect.session);
  waiting.mapped()(std::move(holding));
}

void Driver::apply(const core::Extended& effect) {
  if (const auto holding = holding_[effect.session].lock()) holding->extend(effect.deadline);
}

void Driver::apply(const core::Lost& effect) {
  const auto holding = holding_[effect.session].lock();
  if (!holding) return;
  holding->end();
  notifier_.post([holding] { holding->signal_lost(); });
}

void Driver::apply(const core::Ended& effect) {
  auto waiting = acquiring_.extract(effect.session);
  waiting.mapped()(effect.error);
}

void Driver::apply(const core::Released& effect) {
  auto released = holding_.extract(effect.session);
  if (const auto holding = released.mapped().lock()) holding->answer_release(effect.result);
}

void Driver::apply(const core::Warned& effect) {
  notifier_.post([warn = on_warning_, message = effect.message] { warn(message); });
}

}  // namespace leasehold::runtime
