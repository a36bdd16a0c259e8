#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/own_calls.hpp"
#include "sim/plan/plan.hpp"
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
  Process(World world, std::string name, const ProcessPlan& plan, bool doomed);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void start();
  /// As SIGKILL: no handle is released, no destructor runs. This object stays.
  void crash();
  void pause(bool suspends);  ///< `suspends`: its machine, clocks and all
  void resume();
  /// Faults are over: it makes two more acquires and is done; a scripted one releases what it has.
  void heal();
  /// Lets one of its users do what the plan says now. REQUIRES: it is scripted.
  void perform(const StepPlan& step);
  /// Its users that hold this name ask their handles, if it runs.
  void ask_holders_of(const std::string& name);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const ProcessPlan& plan() const { return plan_; }
  /// It has finished the healed phase and its clean-ups, or is dead and has nothing to finish.
  [[nodiscard]] bool done() const { return done_ || crashed(); }
  [[nodiscard]] bool crashed() const { return machine_.killed(); }
  [[nodiscard]] bool paused() const { return machine_.paused(); }
  /// By its own account: from the grant until its user releases, even if it was lost.
  [[nodiscard]] bool holds() const;
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
  class HandleWatch;

  std::shared_ptr<runtime::Driver> make_driver();
  std::vector<User> make_users();
  void finish_if_all_ended();
  void finish();

  void later(std::chrono::nanoseconds span, Job job) override {
    machine_.later(span.count(), std::move(job));
  }
  [[nodiscard]] bool over() const override { return over_; }
  [[nodiscard]] std::unique_ptr<Watch> watch(const HoldingPointer& holding) override;
  [[nodiscard]] std::int64_t true_ns() const override { return world_.queue.now(); }
  void emit(model::Event&& event) override { world_.emit(std::move(event)); }
  /// So that what the oplog has is matched with what was asked.
  [[nodiscard]] std::int64_t next_write() override { return ++writes_; }
  void write(const FencedWrite& write, Outcome done) override;
  void keep_callback(std::chrono::nanoseconds span) override;
  void ended() override { finish_if_all_ended(); }
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
