#include "sim/virtual/process.hpp"

#include <algorithm>

#include "published/recipe_provider.hpp"
#include "sim/lock_options.hpp"

namespace leasehold::sim::simulated {
namespace {

// Above the server's wtimeout for such a write.
constexpr std::int64_t kWriteTimeout = 3'000 * kMs;
/// How often a holder asks `held()` in the time of a lease, and at each turn of events besides.
constexpr int kQuestionsPerLease = 25;
constexpr std::int64_t kNsPerUs = 1'000;

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
                plan.scripted, plan.queue_room, plan.old_release}),
      options_(options_of(plan_, world_.plan.lock, world_.plan.clock_margin_ms)),
      driver_(make_driver()),
      callers_(make_callers()) {}

/// Never resized: events refer to its elements.
std::vector<Process::Caller> Process::make_callers() const {
  std::vector<Caller> callers;
  for (int i = 0; i < (doomed_ ? 1 : plan_.callers); ++i) {
    callers.push_back({Workload({plan_, world_.plan.locks, long_holding(plan_, options_),
                                 doomed_ ? grave_name(name_) : ""})});
  }
  return callers;
}

/// Answers that nobody waits for any more own the driver, as their callers did.
Process::~Process() {
  over_ = true;
  for (const Caller& caller : callers_) {
    // An asynchronous call that waits owns the driver; without this nothing would destroy either.
    if (caller.workload.acquires()) driver_->cancel(caller.session);
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

void Process::start() {
  auto e = event(model::Kind::start);
  e.clock_drift_ppm = plan_.drift_ppm;
  world_.emit(std::move(e));
  for (Caller& caller : callers_) happened(caller, Workload::Started{});
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
  recorder_->heal();
  for (Caller& caller : callers_) {
    // Known from now on; what it does for it has to wait until the process runs.
    const auto action = caller.workload.next(Workload::FaultsEnded{}, random_);
    machine_.run([this, &caller, action] { perform(caller, action); });
  }
}

void Process::perform(const StepPlan& step) {
  Caller& caller = callers_.at(static_cast<std::size_t>(step.caller));
  machine_.run([this, step, &caller] { happened(caller, Workload::StepDue{step}); });
}

/// A paused one cannot answer, so it does not say yes either.
void Process::ask_holders_of(const std::string& name) {
  if (crashed() || paused()) return;
  machine_.run([&] {  // at once
    for (Caller& caller : callers_) {
      if (caller.holding && caller.holding->name == name) ask_held(*caller.holding);
    }
  });
}

void Process::happened(Caller& caller, const Workload::Event& event) {
  perform(caller, caller.workload.next(event, random_));
}

void Process::perform(Caller& caller, const Workload::Action& action) {
  std::visit([&](const auto& next) { on(caller, next); }, action);
}

void Process::on(Caller& caller, const Workload::Rest& rest) {
  machine_.later(rest.time.count() * kNsPerUs,
        [this, &caller] { happened(caller, Workload::TimePassed{}); });
}

void Process::on(Caller& caller, const Workload::Acquire& acquire) {
  caller.asked_name = acquire.lock;
  caller.session = driver_->acquire_async(acquire.lock, options_, acquire.timeout,
                                          [this, &caller](Result<runtime::Handle> handle) {
                                            if (over_) return;
                                            // Why it ended is in the recorder's events.
                                            if (!handle) {
                                              return happened(caller, Workload::NotGranted{});
                                            }
                                            granted(caller, std::move(handle).value());
                                          });
  if (!acquire.cancel_after) return;
  // It may be granted meanwhile, or be another call's turn: then there is nothing to cancel.
  machine_.later(acquire.cancel_after->count() * kMs, [this, &caller, session = caller.session] {
    if (caller.workload.acquires() && session == caller.session) driver_->cancel(session);
  });
}

void Process::granted(Caller& caller, runtime::Handle handle) {
  const auto session = handle.session();
  // By name and token: the handle does not show the owner, which the fence's record needs.
  const auto grant = recorder_->grant_of(caller.asked_name, handle.token());
  caller.holding.emplace(Holding{
      std::move(handle), caller.asked_name, grant.owner,
      HeldAnswers(name_, static_cast<std::int64_t>(session), caller.asked_name), false, nullptr});
  happened(caller, Workload::Granted{session});
}

void Process::on(Caller& caller, const Workload::Receive& receive) {
  Holding& holding = *caller.holding;
  holding.silent = receive.relies_on_lost;
  const auto session = holding.handle.session();
  // The others are asked first: whoever still says yes then does so when this one may.
  world_.on_grant(holding.name);
  // A handle that is lost already calls back at once, from within this constructor.
  holding.on_lost =
      std::make_unique<OnLost>(holding.handle.lost(), [this, session, name = holding.name] {
        auto e = event(model::Kind::notified);
        e.session = static_cast<std::int64_t>(session);
        e.name = name;
        world_.emit(std::move(e));
      });
  ask_held(holding);
  if (!holding.silent) keep_asking(caller, session);
  if (receive.callback_time) machine_.keep_busy(receive.callback_time->count() * kNsPerUs);
  // After this callback has returned, as a user's next statement would be.
  pass_while_held(caller, kGrain);
}

void Process::pass_while_held(Caller& caller, std::int64_t span_ns) {
  machine_.later(span_ns, [this, &caller, session = caller.holding->handle.session()] {
    if (holds(caller, session)) happened(caller, Workload::TimePassed{});
  });
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
  machine_.later(next, [this, &caller, session] { keep_asking(caller, session); });
}

bool Process::ask_held(Holding& holding) {
  const bool held = holding.handle.held();
  const auto now = world_.queue.now();
  // Before and after are one instant here; in the live world they are not.
  holding.answers.add(held, now, now, world_.emit);
  return held;
}

/// In true time: a user's work does not run by the machine's wrong clock.
void Process::on(Caller& caller, const Workload::Hold& hold) {
  pass_while_held(caller, hold.time.count() * kNsPerUs);
}

/// It asks again after it has asked for the release, at once and before an answer can be there: the
/// answer is no from then on.
void Process::on(Caller& caller, const Workload::Release&) {
  const auto holding = std::make_shared<Holding>(std::move(*caller.holding));
  caller.holding.reset();
  ask_held(*holding);
  // The user waits for the release before it goes on, as `release()` does.
  holding->handle.begin_release(
      [this, &caller](ReleaseResult) { happened(caller, Workload::Released{}); });
  // Who has released is not notified of a loss any more, and none is expected.
  holding->on_lost.reset();
  ask_held(*holding);
  holding->answers.flush(world_.queue.now(), world_.emit);
  // Later than the grain of virtual time, which is what a checker allows.
  machine_.later(2 * kGrain, [this, holding] {
    ask_held(*holding);
    holding->answers.flush(world_.queue.now(), world_.emit);
  });
}

void Process::on(Caller& caller, const Workload::Write&) {
  Holding& holding = *caller.holding;
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
  const auto tell = [this, e, has_outcome, &caller](const char* outcome) {
    if (*has_outcome) return;
    *has_outcome = true;
    model::Event done = e;
    done.at_ns = world_.queue.now();
    done.outcome = outcome;
    world_.emit(std::move(done));
    happened(caller, Workload::Written{});
  };
  // "unknown" tells the checkers that it may have been taken, now or later.
  machine_.later(kWriteTimeout, [tell] { tell("unknown"); });
  network_.fenced_write(write, tell);
}

void Process::on(Caller& caller, const Workload::Cancel&) { driver_->cancel(caller.session); }

void Process::on(Caller&, const Workload::Nothing&) {}

void Process::on(Caller&, const Workload::End&) {
  const bool all = std::all_of(callers_.begin(), callers_.end(),
                               [](const Caller& one) { return one.workload.ended(); });
  if (all) finish();
}

void Process::finish() {
  // What it still has to clean up, it cleans up first, as a provider's destructor would.
  // Called again each time: it changes nothing then.
  driver_->begin_close();
  done_ = driver_->cleanups_left() == 0;
  if (!done_) return machine_.later(10 * kMs, [this] { finish(); });
  // Last: all that it sent is counted, clean-ups too.
  recorder_->emit_wire_counts(machine_.now());
}

}  // namespace leasehold::sim::simulated
