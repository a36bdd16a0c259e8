#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/live/own_set/user_set.hpp"
#include "sim/live/run/harness.hpp"
#include "sim/live/servers/replica_set.hpp"
#include "sim/live/stores/scripted_servers.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::live {

/// Where runs are, if not on a replica set of ours: a user's replica set, with what may be done to
/// it, or another store.
struct TheirSet {
  /// Whether there is none, and we start a replica set of our own.
  [[nodiscard]] bool is_ours() const { return uri.empty() && !script; }

  std::string uri;                     ///< of that set
  Power power = Power::servers;        ///< over that set; generated faults need no more
  std::int64_t ttl_period_ms = 1'000;  ///< of its TTL monitor
  bool keep_databases = false;         ///< else those of the runs are dropped
  std::shared_ptr<StoreScript> script = {};  ///< of that other store

  /// Whether faults of this kind can happen there.
  [[nodiscard]] bool can_have(FaultPlan::Kind kind) const {
    if (!script) return power_of(kind) <= power;
    return hits_process(kind) || script->about().faults.contains(kind);
  }
  /// The plan without faults that cannot happen there.
  [[nodiscard]] Plan possible(Plan plan) const {
    std::erase_if(plan.faults, [this](const FaultPlan& fault) { return !can_have(fault.kind); });
    return plan;
  }
};

/// The servers of any number of runs: a replica set of our own, or another store, or a user's set,
/// on which nothing of ours is left at the end.
///
/// Not thread-safe.
class RunSite {
 public:
  /// Throws NoServers, or std::runtime_error if their set does not answer.
  RunSite(TheirSet theirs, const ReplicaSetOptions& ours)
      : theirs_(std::move(theirs)), at_(begin(ours)) {}
  ~RunSite() { (void)leave(); }
  RunSite(const RunSite&) = delete;
  RunSite& operator=(const RunSite&) = delete;

  /// A run there, in a database that no other run has.
  [[nodiscard]] LiveRun run_in(const std::string& database, Janitor& janitor,
                               const std::string& folder = "") {
    auto run = LiveRun::on(at_, database, janitor, folder);
    if (theirs_.uri.empty()) return run;
    databases_.push_back(database);
    run.ttl_period_ms = theirs_.ttl_period_ms;
    return run;
  }
  [[nodiscard]] std::vector<std::string> log_files() const { return at_.log_files; }
  /// Through the proxies before their members, if there are any.
  [[nodiscard]] Traffic traffic() const {
    return at_.proxy == nullptr ? Traffic() : at_.proxy->traffic();
  }
  /// Drops the databases. Returns what could not be done, and why.
  std::vector<std::string> leave() {
    std::vector<std::string> left;
    for (const auto& database : std::exchange(databases_, {})) {
      if (theirs_.keep_databases) continue;
      try {
        drop_database(theirs_.uri, database);
      } catch (const std::exception& error) {
        left.push_back("database " + database + " (" + error.what() + ")");
      }
    }
    return left;
  }

 private:
  template <typename Servers, typename Given>
  [[nodiscard]] StoreAt begin(const Given& given) {
    const auto servers = std::make_shared<Servers>(given);
    servers_ = servers;
    return *servers;
  }
  [[nodiscard]] StoreAt begin(const ReplicaSetOptions& ours) {
    if (theirs_.script) return begin<ScriptedServers>(theirs_.script);
    if (theirs_.is_ours()) return begin<ReplicaSet>(ours);
    if (theirs_.power > Power::processes) return begin<UserSet>(theirs_.uri);
    return theirs_.uri;
  }

  const TheirSet theirs_;
  std::shared_ptr<void> servers_;  ///< that are ours, or have proxies
  const StoreAt at_;
  std::vector<std::string> databases_;  ///< of a user's, that were written to
};

/// A replica set with faults for any number of runs, each in a database of its own. A set of ours
/// is started with the first run, and again for a run that it does not suit.
class LiveWorld final : public World {
 public:
  struct Setting {
    std::optional<ForeignLock> foreign = {};  ///< this lock runs instead of the plan's
    TheirSet set = {};                        ///< where it runs, if not on a set of ours
    std::function<bool()> stop = {};          ///< true ends a run early; may be empty
  };
  LiveWorld() : LiveWorld(Setting{}) {}
  explicit LiveWorld(Setting setting) : setting_(std::move(setting)) {}

  [[nodiscard]] RunResult run(const Plan& plan) override {
    if (!site_ || setting_.set.is_ours()) start_servers_for(plan);
    auto run = site_->run_in(databases() + "_" + std::to_string(++runs_), janitor_);
    run.foreign = setting_.foreign;
    run.stop = setting_.stop;
    auto result = run_live(plan, run);
    const auto failure = model::harness_failure(result.history);
    if (!failure.empty()) throw std::runtime_error("harness failure: " + failure);
    return result;
  }
  [[nodiscard]] bool is_live() const override { return true; }
  std::vector<std::string> leave() override {
    return site_ ? site_->leave() : std::vector<std::string>();
  }

  /// The common prefix of this process's databases.
  [[nodiscard]] static std::string databases() {
    return "leasehold_lab_" + std::to_string(getpid());
  }

 private:
  void start_servers_for(const Plan& plan) {
    ReplicaSetOptions options{.faulty = true};
    // At least the usual one: a busy machine's heartbeats may be late.
    options.election_timeout_ms = std::max(plan.election_timeout_ms, options.election_timeout_ms);
    options.own_settings = plan.heartbeat_ms >= kOwnHeartbeat_ms;
    // A member with a clock that was put back sleeps for so long wherever it waits, and above all
    // in its TTL monitor.
    if (!site_ || clocks_moved_ || options.election_timeout_ms != election_timeout_ms_) {
      site_.reset();
      site_ = std::make_unique<RunSite>(setting_.set, options);
    }
    election_timeout_ms_ = options.election_timeout_ms;
    clocks_moved_ = std::ranges::any_of(plan.faults, [](const FaultPlan& fault) {
      using enum FaultPlan::Kind;
      return fault.kind == clock_jump || fault.kind == clock_drift;
    });
  }

  const Setting setting_;
  std::unique_ptr<RunSite> site_;
  int election_timeout_ms_ = 0;
  bool clocks_moved_ = false;
  Janitor janitor_;
  int runs_ = 0;
};

}  // namespace leasehold::sim::live
