#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/provider.hpp"
#include "sim/plan.hpp"
#include "sim/recorder.hpp"
#include "sim/virtual/replica_set.hpp"

namespace leasehold::sim::virt {

/// What disturbs the way between one process and the members.
struct LinkFaults {
  std::array<bool, ReplicaSet::kMembers> cut{};      ///< and nobody is told
  std::array<bool, ReplicaSet::kMembers> refused{};  ///< and the caller is told at once
  std::int64_t slower_ms = 0;
  std::int64_t late_ms = 0;    ///< requests arrive that late
  std::int64_t inside_ms = 0;  ///< commands wait inside the server that long
  bool replies_lost = false;
};

/// How often a fault was felt: it counts only then.
using Bitten = std::map<std::string, std::int64_t>;

/// How a protocol is spoilt on purpose between core and server, so that a run can fail.
enum class Spoil {
  none,
  deletes_without_owner,
  extends_without_owner,
  writes_for_one,  ///< w: 1, not a majority
  reads_the_real_clock
};

/// A simulated process: the production core, a workload, a clock that may drift, and the driver's
/// part, which finds the primary and carries commands and replies as bytes.
class Process {
 public:
  struct World {
    EventQueue& queue;
    ReplicaSet& servers;
    Random& random;
    std::function<void(const model::Event&)> emit;
    Bitten& bitten;
    const Plan& plan;
    Spoil spoil;
  };

  Process(World world, std::string name, const ProcessPlan& plan, bool grave);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void start();
  void crash();
  void pause();
  void resume();
  /// Faults are over: two more acquires, and then it is done; a scripted one releases what it has.
  void heal();
  /// What a plan says that one of its callers does now. REQUIRES: it is scripted.
  void perform(const StepPlan& step);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const ProcessPlan& plan() const { return plan_; }
  [[nodiscard]] bool done() const { return done_ || crashed_; }
  [[nodiscard]] bool crashed() const { return crashed_; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] bool holds() const;
  [[nodiscard]] bool awaits_a_reply() const { return !under_way_.empty(); }
  [[nodiscard]] bool is_grave() const { return grave_; }

  LinkFaults link;
  std::int64_t wall_offset_ms = 0;  ///< of its wall clock; only the documents' locks read it

 private:
  struct Holding {
    core::SessionId session;
    std::string name, owner;
    FencingToken token;
  };

  [[nodiscard]] std::int64_t local_time(std::int64_t true_ns) const;
  [[nodiscard]] core::LocalInstant local_now() const;
  [[nodiscard]] core::Clocks clocks() const;
  [[nodiscard]] std::int64_t true_time(std::int64_t local_ns) const;
  void later(std::int64_t span_ns, std::function<void()> run);
  void when_running(std::function<void()> run);
  void give(const core::Event& event);
  void carry_out(const core::Effect& effect);
  using Sent = std::shared_ptr<const core::Command>;
  void send(const Sent& command, int tries);
  void deliver(const Sent& command, int member);
  void answered(const core::Command& command, ReplicaSet::Answer answer, const Object& reply);
  [[nodiscard]] std::array<bool, ReplicaSet::kMembers> reachable() const;
  [[nodiscard]] bool reply_stopped(int member);
  [[nodiscard]] std::int64_t latency();

  /// One thread of the process's workload: it holds or awaits one lock at a time.
  struct Caller {
    core::SessionId session = 0;  ///< the last that it asked for
    std::string asked_name;
    std::optional<Holding> holding;
    std::uint64_t rests = 0;
    int healed_acquires = 0;
    bool asking = false, finished = false;
  };
  Caller& caller_of(core::SessionId session);
  void rest(Caller& caller, std::int64_t up_to_ms);
  void cycle(Caller& caller);
  void ask(Caller& caller, const std::string& lock, std::optional<std::int64_t> patience_ms,
           bool cancel);
  void work(Caller& caller, core::SessionId session);
  void release(Caller& caller);
  void go_on(Caller& caller);
  /// Calls `then` when its outcome is known, or never will be.
  void write_fenced(const Holding& holding, std::function<void()> then);
  void finish(Caller& caller);
  void finish();

  World world_;
  const std::string name_;
  const ProcessPlan plan_;
  const bool grave_;
  Random random_;
  Recorder recorder_;
  const std::unique_ptr<core::Provider> core_;
  std::set<core::CommandId> under_way_;  ///< whose reply is wanted
  int known_primary_ = 0;
  core::SessionId last_session_ = 0;
  std::vector<Caller> callers_;
  LockOptions options_;
  std::int64_t writes_ = 0;
  bool healed_ = false, crashed_ = false, paused_ = false, done_ = false;
  std::vector<std::function<void()>> held_back_;  ///< while it is paused
};

}  // namespace leasehold::sim::virt
