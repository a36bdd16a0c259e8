#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  [[nodiscard]] bool can_have(FaultPlan::Kind kind) const;
  /// The plan without faults that cannot happen there.
  [[nodiscard]] Plan possible(Plan plan) const;
};

/// The servers of any number of runs: a replica set of our own, or another store, or a user's set,
/// on which nothing of ours is left at the end.
///
/// Not thread-safe.
class RunSite {
 public:
  /// Throws NoServers, or std::runtime_error if their set does not answer.
  RunSite(TheirSet theirs, const ReplicaSetOptions& ours);
  ~RunSite() { (void)leave(); }
  RunSite(const RunSite&) = delete;
  RunSite& operator=(const RunSite&) = delete;

  /// A run there, in a database that no other run has.
  [[nodiscard]] LiveRun run_in(const std::string& database, Janitor& janitor,
                               const std::string& folder = "");
  [[nodiscard]] std::vector<std::string> log_files() const { return at_.log_files; }
  /// Through the proxies before their members, if there are any.
  [[nodiscard]] Traffic traffic() const;
  /// Drops the databases. Returns what could not be done, and why.
  std::vector<std::string> leave();

 private:
  template <typename Servers, typename Given>
  [[nodiscard]] StoreAt begin(const Given& given) {
    const auto servers = std::make_shared<Servers>(given);
    servers_ = servers;
    return *servers;
  }
  [[nodiscard]] StoreAt begin(const ReplicaSetOptions& ours);

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

  [[nodiscard]] RunResult run(const Plan& plan) override;
  [[nodiscard]] bool is_live() const override { return true; }
  std::vector<std::string> leave() override;

  /// The common prefix of this process's databases.
  [[nodiscard]] static std::string databases();

 private:
  void start_servers_for(const Plan& plan);

  const Setting setting_;
  std::unique_ptr<RunSite> site_;
  int election_timeout_ms_ = 0;
  bool clocks_moved_ = false;
  Janitor janitor_;
  int runs_ = 0;
};

}  // namespace leasehold::sim::live
