#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "published/recipe_provider.hpp"
#include "sim/own_calls.hpp"
#include "sim/plan/lock_registry.hpp"
#include "sim/plan/plan.hpp"
#include "sim/record/held_answers.hpp"
#include "sim/record/recorder.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/network.hpp"
#include "sim/virtual/servers/shards.hpp"

namespace leasehold::sim::simulated {

/// A simulated process: a machine, a network, the runtime and the core of production on them, and
/// its users. It decides what a kill, a pause and the end of the faults mean for them; the users
/// decide what they do.
///
/// REQUIRES: it outlives the queue's events, which refer to it: a killed one is kept to the end.
class Process final : private OwnHome {
 public:
  struct World {
    EventQueue& queue;
    Shards& servers;
    Random& random;
    /// Events are stamped with true time. What the process measured by its own clock is converted
    /// first, so the checkers compare times of one clock.
    std::function<void(model::Event&&)> emit;
    /// A caller was granted this name: all that hold it by their own account are to be asked now.
    std::function<void(const std::string& name)> on_grant;
    const Plan& plan;
  };

  /// `doomed`: it takes a lock that no other process wants and holds it until it is killed, so that
  /// each run has a dead holder's document to wait for.
  Process(World world, std::string name, const ProcessPlan& plan, bool doomed)
      : world_(std::move(world)),
        name_(std::move(name)),
        plan_(plan),
        doomed_(doomed),
        // Its own from here on. What one process draws leaves the numbers of the others as they
        // are.
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
  /// Answers that no call waits for any more own the driver, as their users did, and so do calls
  /// that nothing answers.
  ~Process() override {
    over_ = true;
    for (User& user : users_) user.cancel();
    machine_.let_go();
    driver_->forget_calls();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The event says how its clock drifts: the checkers convert bounds with it.
  void start() {
    world_.emit({.at_ns = world_.queue.now(),
                 .kind = model::Kind::start,
                 .process = name_,
                 .leads = plan_.leads,
                 .clock_drift_ppm = plan_.drift_ppm,
                 .workers = workers_of(plan_)});
    for (User& user : users_) user.happened(Workload::Started{});
  }

  /// As SIGKILL: no handle is released, no destructor runs. This object stays.
  /// What its users received until then is known to the harness, which asked for them.
  void crash() {
    for (User& user : users_) {
      // Until the kill it did run, so its answer counts; a stopped one could not have asked.
      if (!paused()) user.ask();
      user.flush();
    }
    network_.note_what_hangs();
    machine_.kill();
  }

  /// `suspends`: its machine, clocks and all. Asked at the last moment: from here on there is no
  /// answer, and the checkers must not take the silence for one.
  void pause(bool suspends) {
    for (User& user : users_) user.ask();
    suspends ? machine_.suspend() : machine_.pause();
  }
  /// The first that it does is to ask: it does not know yet how long it was away.
  void resume() {
    // Before what was held back runs: timers that came due meanwhile have not fired yet, and
    // `held()` has to say no without them. Of a silent user an answer that came meanwhile may be
    // read first.
    for (User& user : users_) {
      const auto& holdings = user.holdings();
      if (!crashed() && !holdings.empty() && !holdings.front()->silent) user.ask();
    }
    machine_.resume();
  }

  /// Faults are over: it makes two more acquires and is done; a scripted one releases what it has.
  /// The recorder marks what is asked for from here on, for in the healed phase it has to be
  /// granted.
  void heal() {
    recorder_->heal();
    for (User& user : users_) machine_.run(user.faults_end());
  }
  /// Lets one of its users do what the plan says now. REQUIRES: it is scripted.
  /// Once it runs again, if it is stopped: a stopped user does nothing at its time.
  void perform(const StepPlan& step) {
    User& user = users_.at(static_cast<std::size_t>(step.caller));
    machine_.run([&user, step] { user.happened(Workload::StepDue{step}); });
  }
  /// Its users that hold this name ask their handles, if it runs.
  /// A paused one cannot answer, so it does not say yes either.
  void ask_holders_of(const std::string& name) {
    if (crashed() || paused()) return;
    machine_.run([&] {  // at once
      for (User& user : users_) {
        const auto& holdings = user.holdings();
        const bool holds = std::ranges::any_of(holdings, [&](auto& h) { return h->name == name; });
        if (holds) user.ask();
      }
    });
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const ProcessPlan& plan() const { return plan_; }
  /// It has finished the healed phase and its clean-ups, or is dead and has nothing to finish.
  [[nodiscard]] bool done() const { return done_ || crashed(); }
  [[nodiscard]] bool crashed() const { return machine_.killed(); }
  [[nodiscard]] bool paused() const { return machine_.paused(); }
  /// By its own account: from the grant until its user releases, even if it was lost.
  /// Whatever its handles say: a fault wants a holder with a user that acts as one.
  [[nodiscard]] bool holds() const {
    return std::ranges::any_of(users_, [](const User& user) { return !user.holdings().empty(); });
  }
  [[nodiscard]] bool awaits_a_reply() const { return network_.awaits_a_reply(); }
  [[nodiscard]] const FaultCounts& sent() const { return network_.sent(); }
  /// Since when functions of its users that take their time have kept the thread that calls back.
  [[nodiscard]] std::int64_t kept_since() const override {
    return keep_ > 0 || kept_to_ == world_.queue.now() ? kept_from_ : 0;
  }
  [[nodiscard]] bool is_doomed() const { return doomed_; }

  LinkFaults& link() { return network_.link; }
  /// Sets its wall clock, which only the published locks read.
  void set_wall_offset(std::int64_t ms) { machine_.clock.wall_offset_ms = ms; }

 private:
  // Above the server's wtimeout for such a write.
  static constexpr std::int64_t kWriteTimeout = 3'000 * kMs;
  /// How often a holder asks `held()` in the time of a lease, and at each turn of events besides.
  static constexpr int kQuestionsPerLease = 25;
  /// Every so many-th question is one for `remaining()`, too.
  static constexpr std::int64_t kRemainingEvery = 4;
  /// Every so many-th call waits on a thread of the user: those threads are the machine's own, and
  /// dear.
  static constexpr std::int64_t kWaitsEvery = 16;

  /// Asks in the events of the queue.
  class HandleWatch final : public Watch {
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
      // The last grain before the end has to say yes, the end itself no: an error of one grain
      // shows.
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

  std::shared_ptr<runtime::Driver> make_driver() {
    auto provider = published::provider_named(lock_under_test(world_.plan.lock).provider(), name_,
                                              workers_of(plan_));
    auto parts = network_.driver_parts(std::move(provider), workers_of(plan_), random_.draw());
    parts.observer = recorder_;
    return runtime::Driver::make(std::move(parts));
  }

  /// Never resized: events refer to its elements.
  /// A doomed process needs one: it takes one lock, and holds it.
  std::vector<User> make_users() {
    OwnHome& home = *this;
    std::vector<User> users;
    for (int i = 0; i < (doomed_ ? 1 : plan_.callers); ++i) {
      auto options = options_of(plan_, world_.plan.lock, world_.plan.clock_margin_ms, i);
      Workload workload({plan_, world_.plan.locks, long_holding(plan_, options),
                         doomed_ ? grave_name(name_) : ""});
      auto calls = std::make_unique<OwnCalls>(home, std::move(options), kWaitsEvery,
                                              plan_.reads_percent > 0);
      users.emplace_back(home, std::move(calls), std::move(workload), random_);
    }
    return users;
  }

  void finish() {
    // What it still has to clean up, it cleans up first, as a provider's destructor would.
    // Called again each time: it changes nothing then.
    driver_->begin_close();
    done_ = driver_->departures_left() == 0;
    if (!done_) return machine_.later(10 * kMs, [this] { finish(); });
    // Last: all that it sent is counted, clean-ups too.
    recorder_->emit_wire_counts(machine_.clock.now());
  }

  void later(std::chrono::nanoseconds span, Job job) override {
    machine_.later(span.count(), std::move(job));
  }
  [[nodiscard]] bool over() const override { return over_; }
  [[nodiscard]] std::unique_ptr<Watch> watch(const HoldingPointer& holding) override {
    return std::make_unique<HandleWatch>(*this, holding);
  }
  [[nodiscard]] std::int64_t true_ns() const override { return world_.queue.now(); }
  void emit(model::Event&& event) override { world_.emit(std::move(event)); }
  /// So that what the oplog has is matched with what was asked.
  [[nodiscard]] std::int64_t next_write() override { return ++writes_; }
  /// The answer and the time-out both come; the first is the outcome.
  void write(const FencedWrite& write, Outcome done) override {
    const auto first = [open = std::make_shared<bool>(true),
                        done = std::move(done)](const char* outcome) {
      if (std::exchange(*open, false)) done(outcome);
    };
    // "unknown" tells the checkers that it may have been taken, now or later.
    machine_.later(kWriteTimeout, [first] { first("unknown"); });
    network_.fenced_write(std::make_shared<const FencedWrite>(write), first);
  }

  void keep_callback(std::chrono::nanoseconds span) override {
    if (keep_++ == 0 && kept_to_ != world_.queue.now()) kept_from_ = world_.queue.now();
    machine_.keep_busy(span.count());
    machine_.later(span.count(), [this] {
      --keep_;
      kept_to_ = world_.queue.now();
    });
  }

  /// Each user that ends asks, so the last one finds that it is the last.
  void ended() override {
    const bool all = std::ranges::all_of(users_, [](const User& user) { return user.ended(); });
    if (all) finish();
  }
  /// Calls back within the turn of the thread that has the answer.
  void notify(Job job) override { job(); }
  void start_thread(Job job) override { machine_.start_user(std::move(job)); }
  [[nodiscard]] core::LocalInstant now() const override { return machine_.clock.now(); }
  [[nodiscard]] Recorder& recorder() override { return *recorder_; }
  [[nodiscard]] const std::shared_ptr<runtime::Driver>& driver() override { return driver_; }

  // The order of these members is part of what a seed means, because their constructors draw. They
  // are destroyed from the last to the first.
  World world_;
  const std::string name_;
  const ProcessPlan plan_;
  const bool doomed_;
  Random random_;
  Machine machine_;
  const std::shared_ptr<Recorder> recorder_;
  Network network_;
  bool done_ = false;
  bool over_ = false;  ///< the run has ended: no user is notified any more
  int keep_ = 0;       ///< functions of users that keep the thread that calls back, now
  std::int64_t kept_from_ = 0, kept_to_ = -1;
  std::int64_t writes_ = 0;
  std::shared_ptr<runtime::Driver> driver_;  ///< ends before what it runs on
  std::vector<User> users_;                  ///< and their handles before it
};

}  // namespace leasehold::sim::simulated
