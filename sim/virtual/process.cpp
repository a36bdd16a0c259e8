#include "sim/virtual/process.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "published/recipe_provider.hpp"
#include "sim/plan/lock_registry.hpp"
#include "sim/record/held_answers.hpp"

namespace leasehold::sim::simulated {
namespace {

// Above the server's wtimeout for such a write.
constexpr std::int64_t kWriteTimeout = 3'000 * kMs;
/// How often a holder asks `held()` in the time of a lease, and at each turn of events besides.
constexpr int kQuestionsPerLease = 25;
/// Every so many-th question is one for `remaining()`, too.
constexpr std::int64_t kRemainingEvery = 4;
/// Every so many-th call waits on a thread of the user: those threads are the machine's own, and
/// dear.
constexpr std::int64_t kWaitsEvery = 16;

}  // namespace

/// Asks in the events of the queue.
class Process::HandleWatch final : public Watch {
 public:
  HandleWatch(Process& process, const HoldingPointer& holding)
      : process_(process),
        holding_(*holding),
        self_(holding),
        answers_(process.world_.emit, process.name_, holding->session, holding->name) {}

  void begin() override {
    // The others are asked first: a holder that still says yes does so when this one may act.
    process_.world_.on_grant(holding_.name);
    // What is lost already calls back at once, from within this constructor.
    on_lost_.emplace(holding_.lost(), [this] {
      process_.world_.emit(process_.event_of(holding_, model::Kind::notified));
    });
    ask();
    if (!holding_.silent) keep_asking();
  }

  void ask() override { (void)asked(); }
  void flush() override { answers_.flush(process_.world_.queue.now()); }

  void end() override {
    on_lost_.reset();
    if (holding_.handle) ask();
    flush();
    // Later than the grain of virtual time, which is what a checker allows.
    process_.machine_.later(2 * kGrain, [this, self = self_.lock()] {
      ask();
      flush();
    });
  }

 private:
  /// Evenly over the lease, and at the very end of it.
  void keep_asking() {
    // A no is final; what it would say later is asked elsewhere (each grant of the name, the
    // release).
    if (holding_.over || !asked()) return;
    const MachineClock& clock = process_.machine_.clock;
    const auto pause = holding_.lease.count() * kMs / kQuestionsPerLease;
    // A leader does not know how long it has left.
    const auto left = holding_.handle ? holding_.remaining().count() : 2 * pause;
    // The deadline is a time of the machine's clock, the queue's is true time.
    const auto end = clock.true_time(clock.now().time_since_epoch().count() + left);
    const auto until_end = std::max(end - process_.world_.queue.now(), kGrain);
    // The last grain before the end has to say yes, the end itself no: an error of one grain shows.
    const auto next =
        until_end > pause ? pause : until_end > kGrain ? until_end - kGrain : kGrain;
    process_.machine_.later(next, [this, self = self_] {
      if (!self.expired()) keep_asking();
    });
  }

  bool asked() {
    const bool held = holding_.held();
    // It says something new once after an extension.
    const bool asks = holding_.handle && answers_.count() % kRemainingEvery == 0;
    const auto left = asks ? holding_.remaining().count() : 0;
    const MachineClock& clock = process_.machine_.clock;
    const auto until =
        left > 0 ? clock.true_time(clock.now().time_since_epoch().count() + left) : 0;
    const auto now = process_.world_.queue.now();
    // Before and after are one instant here; in the live world they are not.
    answers_.add(held, now, now, until);
    return held;
  }

  Process& process_;
  const Holding& holding_;  ///< which owns this
  const std::weak_ptr<Holding> self_;
  HeldAnswers answers_;
  // Last, so that it ends first: a callback must not find what is half destroyed.
  std::optional<std::stop_callback<std::function<void()>>> on_lost_;
};

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
      network_({machine_, world_.queue, world_.servers, *recorder_,
                {lock_under_test(world_.plan.lock).sabotage, plan.old_release,
                 static_cast<std::size_t>(plan.queue_room)},
                random_.draw(), world_.plan.stray_commands, name_, world_.emit}),
      driver_(make_driver()),
      users_(make_users()) {}

/// Never resized: events refer to its elements.
/// A doomed process needs one: it takes one lock, and holds it.
std::vector<User> Process::make_users() {
  OwnHome& home = *this;
  std::vector<User> users;
  for (int i = 0; i < (doomed_ ? 1 : plan_.callers); ++i) {
    auto options = options_of(plan_, world_.plan.lock, world_.plan.clock_margin_ms, i);
    Workload workload({plan_, world_.plan.locks, long_holding(plan_, options),
                       doomed_ ? grave_name(name_) : ""});
    auto calls = std::make_unique<OwnCalls>(home, std::move(options), kWaitsEvery);
    users.emplace_back(home, std::move(calls), std::move(workload), random_);
  }
  return users;
}

/// Answers that no call waits for any more own the driver, as their users did.
Process::~Process() {
  over_ = true;
  for (User& user : users_) user.cancel();
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
  for (User& user : users_) user.happened(Workload::Started{});
}

/// Whatever its handles say: a fault wants a holder with a user that acts as one.
bool Process::holds() const {
  return std::any_of(users_.begin(), users_.end(),
                     [](const User& user) { return !user.holdings().empty(); });
}

/// What its users received until then is known to the harness, which asked for them.
void Process::crash() {
  for (User& user : users_) {
    // Until the kill it did run, so its answer counts; a stopped one could not have asked.
    if (!paused()) user.ask();
    user.flush();
  }
  network_.note_what_hangs();
  machine_.kill();
}

/// Asked at the last moment: from here on there is no answer, and the checkers must not take the
/// silence for one.
void Process::pause(bool suspends) {
  for (User& user : users_) user.ask();
  suspends ? machine_.suspend() : machine_.pause();
}

/// The first that it does is to ask: it does not know yet how long it was away.
void Process::resume() {
  // Before what was held back runs: timers that came due meanwhile have not fired yet, and `held()`
  // has to say no without them. Of a silent user an answer that came meanwhile may be read first.
  for (User& user : users_) {
    const auto& holdings = user.holdings();
    if (!crashed() && !holdings.empty() && !holdings.front()->silent) user.ask();
  }
  machine_.resume();
}

/// The recorder marks what is asked for from here on, for in the healed phase it has to be granted.
void Process::heal() {
  recorder_->heal();
  for (User& user : users_) machine_.run(user.faults_end());
}

/// Once it runs again, if it is stopped: a stopped user does nothing at its time.
void Process::perform(const StepPlan& step) {
  User& user = users_.at(static_cast<std::size_t>(step.caller));
  machine_.run([&user, step] { user.happened(Workload::StepDue{step}); });
}

/// A paused one cannot answer, so it does not say yes either.
void Process::ask_holders_of(const std::string& name) {
  if (crashed() || paused()) return;
  machine_.run([&] {  // at once
    for (User& user : users_) {
      const auto& holdings = user.holdings();
      const bool holds = std::any_of(holdings.begin(), holdings.end(),
                                     [&](const auto& holding) { return holding->name == name; });
      if (holds) user.ask();
    }
  });
}

/// Each user that ends asks, so the last one finds that it is the last.
void Process::finish_if_all_ended() {
  const bool all = std::all_of(users_.begin(), users_.end(),
                               [](const User& user) { return user.ended(); });
  if (all) finish();
}

void Process::finish() {
  // What it still has to clean up, it cleans up first, as a provider's destructor would.
  // Called again each time: it changes nothing then.
  driver_->begin_close();
  done_ = driver_->departures_left() == 0;
  if (!done_) return machine_.later(10 * kMs, [this] { finish(); });
  // Last: all that it sent is counted, clean-ups too.
  recorder_->emit_wire_counts(machine_.clock.now());
}

std::unique_ptr<Watch> Process::watch(const HoldingPointer& holding) {
  return std::make_unique<HandleWatch>(*this, holding);
}

void Process::keep_callback(std::chrono::nanoseconds span) {
  if (keep_++ == 0 && kept_to_ != world_.queue.now()) kept_from_ = world_.queue.now();
  machine_.keep_busy(span.count());
  machine_.later(span.count(), [this] {
    --keep_;
    kept_to_ = world_.queue.now();
  });
}

/// The answer and the time-out both come; the first is the outcome.
void Process::write(const FencedWrite& write, Outcome done) {
  const auto first = [open = std::make_shared<bool>(true),
                      done = std::move(done)](const char* outcome) {
    if (std::exchange(*open, false)) done(outcome);
  };
  // "unknown" tells the checkers that it may have been taken, now or later.
  machine_.later(kWriteTimeout, [first] { first("unknown"); });
  network_.fenced_write(std::make_shared<const FencedWrite>(write), first);
}

}  // namespace leasehold::sim::simulated
