#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/driver.hpp"
#include "sim/held_answers.hpp"
#include "sim/plan.hpp"
#include "sim/recorder.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/network.hpp"
#include "sim/virtual/replica_set.hpp"
#include "sim/workload.hpp"

namespace leasehold::sim::simulated {

/// A simulated process: a machine, a network, the runtime and the core of production on them, and
/// callers that do what their workload says. A caller uses its handle as a user would: it asks
/// `held()` while it holds, listens to `lost()`, and has what it hears written down. It asks also
/// when the answer should be no, so that a wrong answer is on record.
///
/// REQUIRES: it outlives the queue's events, which refer to it: a killed one is kept to the end.
class Process {
 public:
  struct World {
    EventQueue& queue;
    ReplicaSet& servers;
    Random& random;
    /// Events are stamped with true time. What the process measured by its own clock is converted
    /// first, so the checkers compare times of one clock.
    std::function<void(model::Event&&)> emit;
    /// Somebody was granted this name: whoever holds it by its own account is to be asked now.
    std::function<void(const std::string& name)> on_grant;
    const Plan& plan;
    Sabotage sabotage;
  };

  /// `doomed`: it takes a lock that nobody else wants and holds it until it is killed, so that each
  /// run has a dead holder's document to wait for.
  Process(World world, std::string name, const ProcessPlan& plan, bool doomed);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void start();
  /// As SIGKILL: no handle is released, no destructor runs. This object stays.
  void crash();
  void pause();
  void suspend();  ///< a pause of its machine, clocks and all
  void resume();
  /// Faults are over: two more acquires, and then it is done; a scripted one releases what it has.
  void heal();
  /// What a plan says that one of its callers does now. REQUIRES: it is scripted.
  void perform(const StepPlan& step);
  /// Its callers that hold this name ask their handles, if it runs.
  void ask_holders_of(const std::string& name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const ProcessPlan& plan() const { return plan_; }
  /// It has finished the healed phase, its clean-ups included; who is dead has nothing to finish.
  [[nodiscard]] bool done() const { return done_ || crashed(); }
  [[nodiscard]] bool crashed() const { return machine_.killed(); }
  [[nodiscard]] bool paused() const { return machine_.paused(); }
  /// By its own account: from the grant until its user releases, whether it is lost or not.
  [[nodiscard]] bool holds() const;
  [[nodiscard]] bool awaits_a_reply() const { return network_.awaits_a_reply(); }
  [[nodiscard]] bool is_doomed() const { return doomed_; }

  LinkFaults& link() { return network_.link; }
  /// Of its wall clock; only the published locks read it.
  void set_wall_offset(std::int64_t ms) { machine_.wall_offset_ms = ms; }

 private:
  using OnLost = std::stop_callback<std::function<void()>>;
  struct Holding {
    runtime::Handle handle;
    std::string name, owner;
    HeldAnswers answers;
    bool silent;  ///< its user relies on `lost()` alone
    // Last, so that it ends first: a callback must not find a holding that is half destroyed.
    std::unique_ptr<OnLost> on_lost;
  };

  /// One thread of the process: it holds or awaits one lock at a time.
  ///
  /// INVARIANT: `holding` from the grant until the release is asked for, as its workload has it.
  struct Caller {
    Workload workload;
    core::SessionId session = 0;  ///< the last that it asked for
    std::string asked_name;
    std::optional<Holding> holding;
  };

  [[nodiscard]] model::Event event(model::Kind kind) const;
  std::shared_ptr<runtime::Driver> make_driver();
  std::vector<Caller> make_callers() const;
  /// Goes on with what its workload does after that.
  void happened(Caller& caller, const Workload::Event& event);
  void perform(Caller& caller, const Workload::Action& action);
  void on(Caller& caller, const Workload::Rest& rest);
  void on(Caller& caller, const Workload::Acquire& acquire);
  void on(Caller& caller, const Workload::Receive& receive);
  void on(Caller& caller, const Workload::Write& write);
  void on(Caller& caller, const Workload::Hold& hold);
  void on(Caller& caller, const Workload::Release& release);
  void on(Caller& caller, const Workload::Cancel& cancel);
  void on(Caller& caller, const Workload::Nothing& nothing);
  void on(Caller& caller, const Workload::End& end);
  void granted(Caller& caller, runtime::Handle handle);
  void keep_asking(Caller& caller, core::SessionId session);
  bool ask_held(Holding& holding);
  void ask_all();
  /// After so long, if it still has this holding then.
  void pass_while_held(Caller& caller, std::int64_t span_ns);
  void finish();
  // Whether it still has the very holding that an event was asked for: it may have released it and
  // got another since.
  [[nodiscard]] static bool holds(const Caller& caller, core::SessionId session);

  // The order of these members is part of what a seed means: their constructors draw. It is also
  // that of their destruction, from the last to the first.
  World world_;
  const std::string name_;
  const ProcessPlan plan_;
  const bool doomed_;
  Random random_;
  Machine machine_;
  const std::shared_ptr<Recorder> recorder_;
  Network network_;
  LockOptions options_;
  // Numbers its writes to the fence, so that what the oplog has is matched with what was asked.
  std::int64_t writes_ = 0;
  bool done_ = false;
  bool over_ = false;  ///< the run has ended: nobody is notified any more
  const std::shared_ptr<runtime::Driver> driver_;  ///< ends before what it runs on
  std::vector<Caller> callers_;                    ///< and their handles before it
};

}  // namespace leasehold::sim::simulated
