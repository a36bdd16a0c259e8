#include "sim/virtual/process.hpp"

#include <algorithm>

#include "published/recipe_provider.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::sim::simulated {

Process::Process(World world, std::string name, const ProcessPlan& plan, bool doomed)
    : world_(std::move(world)),
      name_(std::move(name)),
      plan_(plan),
      doomed_(doomed),
      // Its own from here on. What one process draws leaves the numbers of the others as they are.
      random_(world_.random.draw()),
      machine_(world_.queue, plan.drift_ppm, ServerSettings{}.epoch_ms, random_.draw()),
      recorder_(std::make_shared<Recorder>(
          name_,
          [this](model::Event&& e) {
            // The end of a run destroys handles and drivers; what they do then is no part of its
            // history.
            if (over_) return;
            e.at_ns = world_.queue.now();  // the harness's clock, not the process's own
            set_true_times(e, [this](auto shown) { return machine_.clock.true_time(shown); });
            world_.emit(std::move(e));
          })),
      network_({machine_, world_.queue, world_.servers, *recorder_, world_.sabotage, random_.draw(),
                world_.plan.stray_commands, plan.queue_room, plan.old_release, name_, world_.emit}),
      home_{.process = name_,
            .queue = world_.queue,
            .machine = machine_,
            .network = network_,
            .recorder = *recorder_,
            .random = random_,
            .emit = world_.emit,
            .on_grant = world_.on_grant,
            .on_end = [this] { finish_if_all_ended(); },
            .over = over_,
            .driver = make_driver()},
      callers_(make_callers()) {}

/// Never resized: events refer to its elements.
/// A doomed process needs one: it takes one lock, and holds it.
std::vector<Caller> Process::make_callers() {
  std::vector<Caller> callers;
  for (int i = 0; i < (doomed_ ? 1 : plan_.callers); ++i) {
    auto options = options_of(plan_, world_.plan.lock, world_.plan.clock_margin_ms, i);
    Workload workload({plan_, world_.plan.locks, long_holding(plan_, options),
                       doomed_ ? grave_name(name_) : ""});
    callers.emplace_back(home_, std::move(options), std::move(workload));
  }
  return callers;
}

/// Answers that no call waits for any more own the driver, as their callers did.
Process::~Process() {
  over_ = true;
  for (Caller& caller : callers_) caller.cancel_call();
  machine_.let_go();
}

std::shared_ptr<runtime::Driver> Process::make_driver() {
  auto provider = published::provider_named(lock_under_test(world_.plan.lock).provider(), name_,
                                            workers_of(plan_));
  auto parts = network_.driver_parts(std::move(provider), workers_of(plan_), random_.draw());
  parts.observer = recorder_;
  return runtime::Driver::make(std::move(parts));
}

/// The event says how its clock drifts: the checkers convert bounds with it.
void Process::start() {
  world_.emit({.at_ns = world_.queue.now(),
               .kind = model::Kind::start,
               .process = name_,
               .leads = plan_.leads,
               .clock_drift_ppm = plan_.drift_ppm,
               .workers = workers_of(plan_)});
  for (Caller& caller : callers_) caller.happened(Workload::Started{});
}

/// Whatever its handles say: a fault wants a holder with a user that acts as one.
bool Process::holds() const {
  return std::any_of(callers_.begin(), callers_.end(),
                     [](const Caller& caller) { return !caller.holdings().empty(); });
}

/// What its users received until then is known to the harness, which asked for them.
void Process::crash() {
  for (Caller& caller : callers_) {
    // Until the kill it did run, so its answer counts; a stopped one could not have asked.
    if (!paused()) caller.ask();
    caller.flush();
  }
  network_.note_what_hangs();
  machine_.kill();
}

/// Asked at the last moment: from here on there is no answer, and the checkers must not take the
/// silence for one.
void Process::pause(bool suspends) {
  for (Caller& caller : callers_) caller.ask();
  suspends ? machine_.suspend() : machine_.pause();
}

/// The first that it does is to ask: it does not know yet how long it was away.
void Process::resume() {
  // Before what was held back runs: timers that came due meanwhile have not fired yet, and `held()`
  // has to say no without them. Of a silent caller an answer that came meanwhile may be read first.
  for (Caller& caller : callers_) {
    const auto& holdings = caller.holdings();
    if (!crashed() && !holdings.empty() && !holdings.front().silent) caller.ask();
  }
  machine_.resume();
}

/// The recorder marks what is asked for from here on, for in the healed phase it has to be granted.
void Process::heal() {
  recorder_->heal();
  for (Caller& caller : callers_) caller.faults_end();
}

/// Once it runs again, if it is stopped: a stopped user does nothing at its time.
void Process::perform(const StepPlan& step) {
  Caller& caller = callers_.at(static_cast<std::size_t>(step.caller));
  machine_.run([&caller, step] { caller.happened(Workload::StepDue{step}); });
}

/// A paused one cannot answer, so it does not say yes either.
void Process::ask_holders_of(const std::string& name) {
  if (crashed() || paused()) return;
  machine_.run([&] {  // at once
    for (Caller& caller : callers_) {
      const auto& holdings = caller.holdings();
      const bool holds = std::any_of(holdings.begin(), holdings.end(),
                                     [&](const Holding& holding) { return holding.name == name; });
      if (holds) caller.ask();
    }
  });
}

/// Each caller that ends asks, so the last one finds that it is the last.
void Process::finish_if_all_ended() {
  const bool all = std::all_of(callers_.begin(), callers_.end(),
                               [](const Caller& caller) { return caller.ended(); });
  if (all) finish();
}

void Process::finish() {
  // What it still has to clean up, it cleans up first, as a provider's destructor would.
  // Called again each time: it changes nothing then.
  home_.driver->begin_close();
  done_ = home_.driver->departures_left() == 0;
  if (!done_) return machine_.later(10 * kMs, [this] { finish(); });
  // Last: all that it sent is counted, clean-ups too.
  recorder_->emit_wire_counts(machine_.clock.now());
}

}  // namespace leasehold::sim::simulated
