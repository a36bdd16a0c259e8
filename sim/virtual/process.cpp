#include "sim/virtual/process.hpp"

#include <algorithm>

#include "published/recipe_provider.hpp"
#include "sim/lock_options.hpp"

namespace leasehold::sim::simulated {
namespace {

using std::chrono::milliseconds;

// Far longer than a dead holder's lease, so that a time-out in the healed phase is the lock's
// fault.
constexpr std::int64_t kHealedTimeout_ms = 60'000;
constexpr int kHealedAcquires = 2;
// Above the server's wtimeout for such a write.
constexpr std::int64_t kWriteTimeout = 3'000 * kMs;
/// How often a holder asks `held()` in the time of a lease, and at each turn of events besides.
constexpr int kQuestionsPerLease = 25;
/// Every so many-th holding relies on `lost()` alone: a question at the deadline would do what a
/// timer has to.
constexpr int kSilentEvery = 4;
/// Users' functions that take their time: so many in a hundred, and how long at most.
constexpr int kSlowCallbackPercent = 3;
constexpr std::int64_t kSlowCallback_us = 300'000;

/// Shared with parts that are made before and end after it.
template <typename T>
std::shared_ptr<T> borrowed(T& part) {
  return {std::shared_ptr<void>(), &part};
}

}  // namespace

Process::Process(World world, std::string name, const ProcessPlan& plan, bool doomed)
    : world_(std::move(world)),
      name_(std::move(name)),
      plan_(plan),
      doomed_(doomed),
      // Its own from here on. What one process draws leaves the numbers of the others as they are.
      random_(world_.random.draw()),
      machine_(world_.queue, plan.drift_ppm, ReplicaSet::Settings{}.epoch_ms, random_.draw()),
      recorder_(std::make_shared<Recorder>(
          name_,
          [this](model::Event&& e) {
            // The end of a run destroys handles and drivers; what they do then is no part of its
            // history.
            if (over_) return;
            e.at_ns = world_.queue.now();  // the harness's clock, not the process's own
            for (auto* time : {&e.sent_ns, &e.deadline_ns, &e.give_up_ns}) {
              if (*time > 0) *time = machine_.true_time(*time);
            }
            world_.emit(std::move(e));
          })),
      network_({machine_, world_.queue, world_.servers, *recorder_, world_.sabotage, random_.draw(),
                plan.scripted}),
      options_(options_of(plan_, world_.plan.lock, world_.plan.clock_margin_ms)),
      driver_(make_driver()),
      // Never resized: events refer to its elements.
      callers_(doomed ? 1 : static_cast<std::size_t>(plan_.callers)) {}

/// Answers that nobody waits for any more own the driver, as their callers did.
Process::~Process() {
  over_ = true;
  for (const Caller& caller : callers_) {
    // An asynchronous call that waits owns the driver; without this nothing would destroy either.
    if (caller.asking) driver_->cancel(caller.session);
  }
  machine_.let_go();
}

std::shared_ptr<runtime::Driver> Process::make_driver() {
  return runtime::Driver::make(
      {.carriers = network_.carriers(),
       .clock = borrowed(machine_),
       .executor = borrowed(machine_),
       .entropy = std::make_unique<Random>(random_.draw()),
       .provider = published::provider_named(lock_under_test(world_.plan.lock).provider(), name_),
       .workers = workers_of(plan_),
       .on_warning = [](const std::string&) {},
       .observer = recorder_});
}

model::Event Process::event(model::Kind kind) const {
  model::Event e;
  e.at_ns = world_.queue.now();
  e.kind = kind;
  e.process = name_;
  return e;
}

void Process::later(std::int64_t span_ns, std::function<void()> job) {
  machine_.later(span_ns, std::move(job));
}

void Process::start() {
  auto e = event(model::Kind::start);
  e.clock_drift_ppm = plan_.drift_ppm;
  world_.emit(std::move(e));
  // They begin within 20 ms of each other: they compete from the start, in an order that is random.
  for (Caller& caller : callers_) rest(caller, 20);
}

bool Process::holds() const {
  return std::any_of(callers_.begin(), callers_.end(),
                     [](const Caller& caller) { return caller.holding.has_value(); });
}

bool Process::holds(const Caller& caller, core::SessionId session) {
  return caller.holding && caller.holding->handle.session() == session;
}

/// What its users heard until then is known to the harness, which asked for them.
void Process::crash() {
  for (Caller& caller : callers_) {
    if (!caller.holding) continue;
    // Until the kill it did run, so its answer counts; a stopped one could not have asked.
    if (!paused()) ask_held(*caller.holding);
    caller.holding->answers.flush(world_.queue.now(), world_.emit);
  }
  machine_.kill();
}

void Process::ask_all() {
  for (Caller& caller : callers_) {
    if (caller.holding) ask_held(*caller.holding);
  }
}

/// Asked at the last moment: from here on there is no answer, and the checkers must not take the
/// silence for one.
void Process::pause() {
  ask_all();
  machine_.pause();
}

void Process::suspend() {
  ask_all();
  machine_.suspend();
}

/// The first that it does is to ask: it does not know yet how long it was away.
void Process::resume() {
  // Before what was held back runs: timers that came due meanwhile have not fired yet, and `held()`
  // has to say no without them. Where nobody asks, an answer that came meanwhile may be read first.
  for (Caller& caller : callers_) {
    if (!crashed() && caller.holding && !caller.holding->silent) ask_held(*caller.holding);
  }
  machine_.resume();
}

void Process::heal() {
  healed_ = true;
  recorder_->heal();
  machine_.run([this] {
    for (Caller& caller : callers_) {
      if ((doomed_ || plan_.scripted) && caller.holding) {
        release(caller);
      } else if (plan_.scripted && !caller.asking) {
        finish(caller);
      }
    }
  });
}

void Process::perform(const StepPlan& step) {
  using Action = StepPlan::Action;
  Caller& caller = callers_.at(static_cast<std::size_t>(step.caller));
  machine_.run([this, step, &caller] {
    switch (step.action) {
      case Action::acquire:
        // A step that its caller cannot take is passed over: a minimised plan may lack the one
        // before it.
        if (caller.asking || caller.holding) return;
        return ask(
            caller, "lock-" + std::to_string(step.lock),
            step.acquire_timeout_ms == 0 ? std::nullopt : std::optional(step.acquire_timeout_ms),
            false);
      case Action::write: return caller.holding ? write_fenced(*caller.holding, [] {}) : void();
      case Action::release: return caller.holding ? release(caller) : void();
      case Action::cancel: return caller.asking ? driver_->cancel(caller.session) : void();
    }
  });
}

/// A paused one cannot answer, so it does not say yes either.
void Process::ask_holders_of(const std::string& name) {
  if (crashed() || paused()) return;
  machine_.run([this, name] {
    for (Caller& caller : callers_) {
      if (caller.holding && caller.holding->name == name) ask_held(*caller.holding);
    }
  });
}

/// A pause of the workload before its next call.
/// In whole µs, the grain.
void Process::rest(Caller& caller, std::int64_t up_to_ms) {
  const auto number = ++caller.rests;
  later(random_.between(0, up_to_ms * 1'000) * 1'000, [this, &caller, number] {
    if (number == caller.rests) cycle(caller);
  });
}

void Process::cycle(Caller& caller) {
  if (caller.holding || caller.finished || plan_.scripted) return;
  if (doomed_) {
    if (!healed_) ask(caller, "grave-" + name_, 10'000, false);
    if (healed_) finish(caller);
    return;
  }
  // Few names for many callers, so that they meet.
  const auto name = "lock-" + std::to_string(random_.between(0, world_.plan.locks - 1));
  if (healed_) {
    // Two: the first may get what was left in the database by the faults, the second shows that the
    // lock goes on from hand to hand.
    if (caller.healed_acquires++ == kHealedAcquires) return finish(caller);
    ask(caller, name, kHealedTimeout_ms, false);
  } else if (random_.chance(plan_.single_attempt_percent)) {
    ask(caller, name, std::nullopt, false);
  } else {
    // One after the other: the order of arguments is the compiler's choice, that of draws is not.
    const bool cancels = random_.chance(plan_.cancel_percent);
    ask(caller, name, random_.between(50, plan_.acquire_timeout_ms), cancels);
  }
}

void Process::ask(Caller& caller, const std::string& lock,
                  std::optional<std::int64_t> acquire_timeout_ms, bool cancel) {
  caller.asked_name = lock;
  caller.asking = true;
  const milliseconds timeout(acquire_timeout_ms.value_or(0));
  caller.session = driver_->acquire_async(lock, options_, timeout,
                                          [this, &caller](Result<runtime::Handle> handle) {
                                            if (over_) return;
                                            // Why it ended is in the recorder's events.
                                            if (!handle) return go_on(caller);
                                            granted(caller, std::move(handle).value());
                                          });
  if (!cancel) return;
  // It may be granted meanwhile, or be another call's turn: then there is nothing to cancel.
  later(random_.between(1, plan_.wait_max_ms) * kMs, [this, &caller, session = caller.session] {
    if (caller.asking && session == caller.session) driver_->cancel(session);
  });
}

void Process::granted(Caller& caller, runtime::Handle handle) {
  caller.asking = false;
  const auto session = handle.session();
  // By name and token: the handle does not show the owner, which the fence's record needs.
  const auto grant = recorder_->grant_of(caller.asked_name, handle.token());
  const auto lost = handle.lost();
  // By the session's number and not by a draw, so it costs no randomness.
  const bool silent = !plan_.scripted && session % kSilentEvery == 0;
  caller.holding.emplace(Holding{
      std::move(handle), caller.asked_name, grant.owner,
      HeldAnswers(name_, static_cast<std::int64_t>(session), caller.asked_name), silent, nullptr});
  // The others are asked first: whoever still says yes then does so when this one may.
  world_.on_grant(caller.asked_name);
  // A handle that is lost already calls back at once, from within this constructor.
  caller.holding->on_lost =
      std::make_unique<OnLost>(lost, [this, session, name = caller.asked_name] {
        auto e = event(model::Kind::notified);
        e.session = static_cast<std::int64_t>(session);
        e.name = name;
        world_.emit(std::move(e));
      });
  ask_held(*caller.holding);
  if (!silent) keep_asking(caller, session);
  if (!plan_.scripted && random_.chance(kSlowCallbackPercent)) {
    machine_.keep_busy(random_.between(1, kSlowCallback_us) * kGrain);
  }
  // After this callback has returned, as a user's next statement would be.
  later(kGrain, [this, &caller, session] { work(caller, session); });
}

/// Evenly over the lease, and at the very end of it.
void Process::keep_asking(Caller& caller, core::SessionId session) {
  // A no is final; what it would say later is asked elsewhere (each grant of the name, the
  // release).
  if (!holds(caller, session) || !ask_held(*caller.holding)) return;
  const auto left = caller.holding->handle.remaining().count();
  const auto pause = options_.expiry.count() * kMs / kQuestionsPerLease;
  // The deadline is a time of the machine's clock, the queue's is true time.
  const auto end = machine_.true_time(machine_.now().time_since_epoch().count() + left);
  const auto until_end = std::max(end - world_.queue.now(), kGrain);
  // The last grain before the end has to say yes, the end itself no: an error of one grain shows.
  const auto next = until_end > pause ? pause : until_end > kGrain ? until_end - kGrain : kGrain;
  later(next, [this, &caller, session] { keep_asking(caller, session); });
}

bool Process::ask_held(Holding& holding) {
  const bool held = holding.handle.held();
  const auto now = world_.queue.now();
  // Before and after are one instant here; in the live world they are not.
  holding.answers.add(held, now, now, world_.emit);
  return held;
}

/// Writes at the start and at the end of a holding, without asking whether it still holds.
void Process::work(Caller& caller, core::SessionId session) {
  if (!holds(caller, session)) return;
  if (plan_.scripted) return healed_ ? release(caller) : void();
  if (doomed_ && !healed_) return write_fenced(*caller.holding, [] {});  // holds until it is killed
  // In true time: a user's work does not run by the machine's wrong clock.
  std::int64_t hold_us = random_.between(0, plan_.hold_ms * 1'000);
  if (random_.chance(plan_.long_hold_percent) && !healed_) {
    // Longer than a lease: only extensions keep such a lock, and their failures show.
    const auto [least_ms, most_ms] = long_holding(plan_, options_);
    hold_us = random_.between(least_ms, most_ms) * 1'000;
  }
  const auto let_go = [this, &caller, session] {
    if (holds(caller, session)) release(caller);
  };
  // The second write comes late on purpose: the fence must refuse it if somebody else has written
  // since.
  write_fenced(*caller.holding, [this, &caller, session, let_go, hold_us] {
    later(hold_us * 1'000, [this, &caller, session, let_go] {
      if (holds(caller, session)) write_fenced(*caller.holding, let_go);
    });
  });
}

/// It asks again after it has asked for the release, at once and before an answer can be there: the
/// answer is no from then on.
void Process::release(Caller& caller) {
  const auto holding = std::make_shared<Holding>(std::move(*caller.holding));
  caller.holding.reset();
  ask_held(*holding);
  // The user waits for the release before it goes on, as `release()` does.
  holding->handle.begin_release([this, &caller](ReleaseResult) { go_on(caller); });
  // Who has released is not notified of a loss any more, and none is expected.
  holding->on_lost.reset();
  ask_held(*holding);
  holding->answers.flush(world_.queue.now(), world_.emit);
  // Later than the grain of virtual time, which is what a checker allows.
  later(2 * kGrain, [this, holding] {
    ask_held(*holding);
    holding->answers.flush(world_.queue.now(), world_.emit);
  });
}

void Process::go_on(Caller& caller) {
  caller.asking = false;
  // Its next step is the plan's.
  if (plan_.scripted) return healed_ ? finish(caller) : void();
  if (healed_) return rest(caller, 5);
  rest(caller, std::max<std::int64_t>(plan_.hold_ms, 1));
}

void Process::write_fenced(Holding& holding, std::function<void()> then) {
  // Asked right before: who writes after a no makes a stale write knowingly.
  ask_held(holding);
  const FencedWrite write{holding.name, name_, holding.owner, ++writes_,
                          holding.handle.token().value()};
  auto e = event(model::Kind::write);
  e.session = static_cast<std::int64_t>(holding.handle.session());
  e.write_number = write.number;
  e.name = write.name;
  e.token = write.token;
  e.sent_ns = world_.queue.now();
  // The answer and the time-out both come; the first is the outcome.
  const auto has_outcome = std::make_shared<bool>(false);
  const auto tell = [this, e, has_outcome, then = std::move(then)](const char* outcome) {
    if (*has_outcome) return;
    *has_outcome = true;
    model::Event done = e;
    done.at_ns = world_.queue.now();
    done.outcome = outcome;
    world_.emit(std::move(done));
    then();
  };
  // "unknown" tells the checkers that it may have been taken, now or later.
  later(kWriteTimeout, [tell] { tell("unknown"); });
  network_.fenced_write(write, tell);
}

void Process::finish(Caller& caller) {
  caller.finished = true;
  const bool all =
      std::all_of(callers_.begin(), callers_.end(), [](const Caller& one) { return one.finished; });
  if (all) finish();
}

void Process::finish() {
  // What it still has to clean up, it cleans up first, as a provider's destructor would.
  // Called again each time: it changes nothing then.
  driver_->begin_close();
  done_ = driver_->cleanups_left() == 0;
  if (!done_) return later(10 * kMs, [this] { finish(); });
  // Last: all that it sent is counted, clean-ups too.
  recorder_->emit_wire_counts(machine_.now());
}

}  // namespace leasehold::sim::simulated
