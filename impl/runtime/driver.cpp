#include "runtime/driver.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/threads/os_entropy.hpp"

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
  // A function of the user may still run when the driver is gone.
  const auto kept = std::make_shared<decltype(parts.on_warning)>(std::move(parts.on_warning));
  parts.on_warning = [kept](const std::string& message) noexcept {
    try {
      (*kept)(message);
    } catch (...) {  // what it throws has no handler left
      std::fprintf(stderr, "leasehold: %s\n", message.c_str());
    }
  };
  return {new Driver(std::move(parts)), [](Driver* driver) { destroy(driver); }};
}

Driver::Driver(DriverParts parts)
    : clock_(parts.clock),
      executor_(parts.executor),
      entropy_(std::move(parts.entropy)),
      observer_(std::move(parts.observer)),
      core_(std::move(parts.provider)),
      callbacks_(parts.executor,
                 [warn = parts.on_warning](const char* what) {
                   warn(std::string("a function of the application threw: ") + what);
                 }),
      timers_(parts.executor, parts.clock,
              [this](core::Timer timer) { due(timer); }),
      workers_(parts.executor, std::move(parts.carriers), parts.workers,
               [this](core::CommandId command, core::Reply reply) {
                 replied(command, std::move(reply));
               }),
      errands_(parts.inspects, executor_, workers_),
      on_warning_(std::move(parts.on_warning)),
      on_event_(parts.on_event
                    ? std::make_shared<decltype(parts.on_event)>(std::move(parts.on_event))
                    : nullptr) {}

/// Each part stops before what it uses: from here on nothing steps. So timers and workers, which
/// step and are used by steps, end in any order.
Driver::~Driver() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  timers_.stop();
  workers_.stop();
  callbacks_.stop();
}

/// A child of fork lacks the threads that the end of a driver waits for. If this thread must not
/// wait and there is no other, the driver stays: a leak, but no deadlock.
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

Error Driver::forked_error(const std::string& name) {
  return {ErrorKind::shut_down, 0,
          "lock '" + name + "': this process is a child of fork; it needs a provider of its own"};
}

core::SessionId Driver::acquire(const std::string& name, const LockOptions& options,
                                std::optional<std::chrono::milliseconds> timeout,
                                Answered answered, core::Room room,
                                core::SessionId downgraded) {
  if (forked()) {
    answered(forked_error(name));
    return 0;
  }
  core::AcquireAsked asked{0, name, options, std::nullopt, downgraded != 0, room, downgraded};
  if (timeout && timeout->count() <= 0) {
    asked.single_attempt = true;
  } else if (timeout) {
    asked.give_up_at = now() + std::min(*timeout, kLongestDuration);
  }
  {
    const std::lock_guard lock(mutex_);
    asked.session = ++last_session_;
    waiting_.insert_or_assign(asked.session, Call{options, std::move(answered)});
    longest_timeout_ = std::max(longest_timeout_, options.effective_operation_timeout());
  }
  step(asked);
  return asked.session;
}

core::SessionId Driver::acquire_async(const std::string& name, const LockOptions& options,
                                      std::optional<std::chrono::milliseconds> timeout, Done done,
                                      core::Room room) {
  using State = Result<std::shared_ptr<HandleState>>;
  const auto call = [](const std::shared_ptr<Driver>& driver, const Done& to, const State& state) {
    state ? to(Handle(driver, *state)) : to(state.error());
  };
  const bool no_thread_to_call_it = forked();
  auto answered = [=, driver = shared_from_this(), kept = std::move(done)](State state) mutable {
    if (no_thread_to_call_it) return call(driver, kept, state);
    // What is left here, under the lock, is empty: both go to the callback's thread.
    Driver& poster = *driver;
    poster.call_back([call, driver = std::move(driver), kept = std::move(kept),
                    state = std::move(state)] { call(driver, kept, state); });
  };
  return acquire(name, options, timeout, std::move(answered), room);
}

void Driver::cancel(core::SessionId session) { step(core::CancelAsked{session}); }
void Driver::release(core::SessionId session) { step(core::ReleaseAsked{session}); }
void Driver::deadline_seen(core::SessionId session) { step(core::DeadlineSeen{session}); }

bool Driver::extend(const HandleState& handle, core::LocalInstant until) {
  const auto before = handle.deadline();
  step(core::ExtendAsked{handle.session()});
  std::unique_lock lock(mutex_);
  return executor_->wait(lock, stepped_, until - now(),
                         [&] { return handle.deadline() != before; });
}

/// A command of the core, or one of ours.
void Driver::replied(core::CommandId command, core::Reply reply) {
  if (command < kOwnIds) return step(core::ReplyArrived{command, std::move(reply)});
  errands_.replied(command, std::move(reply));
}

void Driver::due(core::Timer timer) { step(core::TimerFired{timer}); }

std::uint64_t Driver::draw() {
  const std::lock_guard lock(mutex_);
  return entropy_->draw();
}

void Driver::begin_close() { step(core::CloseAsked{}); }

std::size_t Driver::departures_left() {
  const std::lock_guard lock(mutex_);
  return core_->departures_left();
}

void Driver::close() {
  if (forked()) return;
  begin_close();
  std::unique_lock lock(mutex_);
  executor_->wait(lock, stepped_, longest_timeout_,
                  [this] { return core_->departures_left() == 0; });
  const auto left = core_->departures_left();
  if (left == 0) return;
  warn("the provider was destroyed with " + std::to_string(left) +
       " clean-ups unfinished; those locks free themselves like a crashed holder's");
}

void Driver::forget_calls() {
  decltype(waiting_) waiting;  // these end outside the lock: they may own the driver
  decltype(handles_) handles;
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  waiting.swap(waiting_);
  handles.swap(handles_);
}

void Driver::step(const core::Event& event) noexcept {
  if (forked()) return;  // the lock may be held by a thread that is not here
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  effects_.clear();
  const auto at = now();
  core_->next(event, {at, clock_->wall()}, *entropy_, effects_);
  if (observer_) observer_->step(event, effects_, at);
  // First, because carrying out an effect moves its command out of it.
  if (on_event_) {
    for (auto& lock_event : translator_.translate(event, effects_, at)) {
      call_back([to = on_event_, lock_event = std::move(lock_event)] { (*to)(lock_event); });
    }
  }
  for (auto& effect : effects_) {
    std::visit([this](auto& e) { apply(e); }, effect);
  }
  stepped_.notify_all();
}

/// A function may go on when this is gone, so it owns what it uses.
void Driver::warn(const std::string& message) {
  call_back([to = on_warning_, message] { to(message); });
}

void Driver::answer(core::SessionId session, Result<std::shared_ptr<HandleState>> result) {
  waiting_.extract(session).mapped().answered(std::move(result));
}

void Driver::apply(const core::Granted& effect) {
  auto handle = std::make_shared<HandleState>(effect, waiting_.at(effect.session).options);
  handles_[effect.session] = handle;
  answer(effect.session, std::move(handle));
}

void Driver::apply(const core::Extended& effect) {
  handles_.at(effect.session)->extend(effect.deadline);
}

/// The handle is not held from here on; its signal may come later. The user's stop callbacks run
/// inside that, so a loss waits neither for other callbacks nor for another loss.
void Driver::apply(const core::Lost& effect) {
  const auto& handle = handles_.at(effect.session);
  handle->end();
  callbacks_.call_apart([handle] { handle->signal_lost(); });
}

void Driver::apply(const core::Released& effect) {
  const auto handle = handles_.extract(effect.session).mapped();
  for (auto& then : handle->answer_release(effect.result)) {
    call_back([then = std::move(then), result = effect.result] { then(result); });
  }
}

}  // namespace leasehold::runtime
