#include "runtime/driver.hpp"

#include <algorithm>

#include "runtime/os_entropy.hpp"
#include "runtime/thread_executor.hpp"

namespace leasehold::runtime {
namespace {

/// Whether this thread gives up an owner of a driver, and must not wait for the driver's end.
thread_local bool must_not_wait = false;

}  // namespace

DriverParts production_parts(std::shared_ptr<core::Transport> transport,
                             std::unique_ptr<core::Provider> provider,
                             std::shared_ptr<const Clock> clock) {
  return {.carriers = carriers_of(std::move(transport)),
          .clock = clock,
          .executor = thread_executor(clock),
          .entropy = os_entropy(),
          .provider = std::move(provider),
          .on_warning = [](const std::string&) {}};
}

std::shared_ptr<Driver> Driver::make(DriverParts parts) {
  return {new Driver(std::move(parts)), [](Driver* driver) { destroy(driver); }};
}

Driver::Driver(DriverParts parts)
    : clock_(parts.clock),
      executor_(parts.executor),
      entropy_(std::move(parts.entropy)),
      inspects_(parts.inspects),
      on_warning_(std::move(parts.on_warning)),
      on_event_(std::move(parts.on_event)),
      observer_(std::move(parts.observer)),
      core_(std::move(parts.provider)),
      callbacks_(parts.executor),
      losses_(parts.executor),
      timers_(parts.executor, parts.clock,
              [this](core::Timer timer) { due(timer); }),
      workers_(parts.executor, std::move(parts.carriers), parts.workers,
               [this](core::CommandId command, core::Reply reply) {
                 replied(command, std::move(reply));
               }) {}

/// Each part stops before what it uses: from here on nothing steps, so that timers and workers, who
/// step and are used by steps, end in any order.
Driver::~Driver() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  timers_.stop();
  workers_.stop();
  losses_.stop();
  callbacks_.stop();
}

/// The threads of a parent are not there to be waited for in its child. Where there is no thread
/// for what this one may not do, the driver stays: a leak, but no deadlock.
void Driver::destroy(Driver* driver) {
  if (driver->forked()) return;
  const auto executor = driver->executor_;
  if (executor->on_own_thread() || must_not_wait) {
    executor->run_apart([driver] { delete driver; });
  } else {
    delete driver;
  }
}

void Driver::drop_without_waiting(std::shared_ptr<Driver> driver) {
  must_not_wait = true;
  driver.reset();
  must_not_wait = false;
}

core::SessionId Driver::acquire(const std::string& name, const LockOptions& options,
                                std::optional<std::chrono::milliseconds> timeout,
                                Answered answered) {
  if (forked()) {
    answered(Error{
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
    acquiring_[asked.session] = std::move(answered);
    longest_timeout_ = std::max(longest_timeout_, options.effective_operation_timeout());
  }
  step(asked);
  return asked.session;
}

core::SessionId Driver::acquire_async(const std::string& name, const LockOptions& options,
                                      std::optional<std::chrono::milliseconds> timeout, Done done) {
  using State = Result<std::shared_ptr<HandleState>>;
  const auto call = [](const std::shared_ptr<Driver>& driver, const Done& to, const State& state) {
    state ? to(Handle(driver, *state)) : to(state.error());
  };
  const bool no_thread_to_call_it = forked();
  return acquire(name, options, timeout,
                 [=, driver = shared_from_this(), kept = std::move(done)](State state) mutable {
                   if (no_thread_to_call_it) return call(driver, kept, state);
                   // What is left here, under the lock, is empty: both go to who calls it.
                   Callbacks& callbacks = driver->callbacks_;
                   callbacks.post([call, driver = std::move(driver), kept = std::move(kept),
                                   state = std::move(state)] { call(driver, kept, state); });
                 });
}

void Driver::cancel(core::SessionId session) { step(core::CancelAsked{session}); }
void Driver::release(core::SessionId session) { step(core::ReleaseAsked{session}); }
void Driver::deadline_seen(core::SessionId session) { step(core::DeadlineSeen{session}); }

core::Reply Driver::inspect(const std::string& name, std::chrono::milliseconds timeout) {
  core::Reply none{.message = "no reply within " + std::to_string(timeout.count()) + " ms"};
  if (forked()) return {.message = "this process is a child of fork"};
  if (!inspects_) {
    return {.outcome = core::Outcome::configuration,
            .message = "the documents of published locks are their own"};
  }
  std::unique_lock lock(mutex_);
  const auto id = ++last_inspection_;
  inspections_[id] = std::nullopt;
  workers_.submit({id, timeout, core::InspectCommand{name}});
  executor_->wait(lock, inspected_, timeout, [&] { return inspections_.at(id).has_value(); });
  auto reply = std::move(inspections_.extract(id).mapped());
  if (!reply) workers_.abandon(id);
  return std::move(reply).value_or(std::move(none));
}

void Driver::replied(core::CommandId command, core::Reply reply) {
  if (command < kInspections) return step(core::ReplyArrived{command, std::move(reply)});
  const std::lock_guard lock(mutex_);
  const auto asked = inspections_.find(command);
  if (asked == inspections_.end()) return looked(command, std::move(reply));
  asked->second = std::move(reply);
  inspected_.notify_all();
}

void Driver::look_at(std::vector<std::string> names, std::chrono::milliseconds timeout,
                     std::function<void(core::Reply)> done) {
  const std::lock_guard lock(mutex_);
  const auto id = ++last_inspection_;
  looks_[id] = std::move(done);
  timers_.set({core::Timer::Kind::command_timeout, id}, now() + timeout);
  workers_.submit({id, timeout, core::ReadHoldersCommand{std::move(names), true}});
}

/// Under the driver's lock. A reply that nobody waits for any more is nothing.
void Driver::looked(core::CommandId command, core::Reply reply) {
  auto look = looks_.extract(command);
  if (!look) return;
  timers_.clear({core::Timer::Kind::command_timeout, command});
  callbacks_.post([done = std::move(look.mapped()), reply = std::move(reply)] { done(reply); });
}

std::uint64_t Driver::call_back_at(core::LocalInstant at, Callbacks::Function function) {
  const std::lock_guard lock(mutex_);
  const auto id = ++last_inspection_;
  calls_to_come_[id] = std::move(function);
  timers_.set({core::Timer::Kind::attempt, id}, at);
  return id;
}

void Driver::forget(std::uint64_t call) {
  const std::unique_lock lock(mutex_);
  timers_.clear({core::Timer::Kind::attempt, call});
  auto forgotten = calls_to_come_.extract(call);
  if (forgotten) callbacks_.post([kept = std::move(forgotten.mapped())] {});
}

/// A timer of the core, or one of ours.
void Driver::due(core::Timer timer) {
  if (timer.id < kInspections) return step(core::TimerFired{timer});
  const std::lock_guard lock(mutex_);
  if (timer.kind == core::Timer::Kind::command_timeout) {
    workers_.abandon(timer.id);
    return looked(timer.id, {.message = "no reply in time"});
  }
  auto call = calls_to_come_.extract(timer.id);
  if (call) callbacks_.post(std::move(call.mapped()));
}

std::uint64_t Driver::draw() {
  const std::lock_guard lock(mutex_);
  return entropy_->draw();
}

void Driver::begin_close() { step(core::CloseAsked{}); }

std::size_t Driver::cleanups_left() {
  const std::lock_guard lock(mutex_);
  return core_->cleanups_left();
}

void Driver::close() {
  if (forked()) return;
  begin_close();
  std::unique_lock lock(mutex_);
  executor_->wait(lock, stepped_, longest_timeout_, [this] { return core_->cleanups_left() == 0; });
  const auto left = core_->cleanups_left();
  if (left == 0) return;
  apply(core::Warned{"the provider was destroyed with " + std::to_string(left) +
                     " clean-ups unfinished; those locks free themselves like a crashed holder's"});
}

void Driver::step(const core::Event& event) {
  if (forked()) return;  // the lock may be held by a thread that is not here
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
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

/// The driver waits for its callbacks before it ends, so they may use what it has.
void Driver::tell(const core::Event& event, core::LocalInstant at) {
  for (auto& lock_event : translator_.translate(event, effects_, at)) {
    callbacks_.post([this, lock_event = std::move(lock_event)] { on_event_(lock_event); });
  }
}

void Driver::apply(core::Send& effect) { workers_.submit(std::move(effect.command)); }
void Driver::apply(const core::Abandon& effect) { workers_.abandon(effect.command); }
void Driver::apply(const core::SetTimer& effect) { timers_.set(effect.timer, effect.at); }
void Driver::apply(const core::ClearTimer& effect) { timers_.clear(effect.timer); }

void Driver::answer(core::SessionId session, Result<std::shared_ptr<HandleState>> result) {
  acquiring_.extract(session).mapped()(std::move(result));
}

void Driver::apply(const core::Granted& effect) {
  auto handle = std::make_shared<HandleState>(effect.session, effect.token, effect.deadline);
  handles_[effect.session] = handle;
  answer(effect.session, std::move(handle));
}

void Driver::apply(const core::Extended& effect) {
  handles_.at(effect.session)->extend(effect.deadline);
}

void Driver::apply(const core::Lost& effect) {
  const auto& handle = handles_.at(effect.session);
  handle->end();
  if (losses_.signal(handle)) return;
  callbacks_.post([handle] { handle->signal_lost(); });
}

void Driver::apply(const core::Ended& effect) { answer(effect.session, effect.error); }

void Driver::apply(const core::Released& effect) {
  const auto handle = handles_.extract(effect.session).mapped();
  for (auto& then : handle->answer_release(effect.result)) {
    callbacks_.post([then = std::move(then), result = effect.result] { then(result); });
  }
}

void Driver::apply(const core::Warned& effect) {
  callbacks_.post([this, message = effect.message] { on_warning_(message); });
}

}  // namespace leasehold::runtime
