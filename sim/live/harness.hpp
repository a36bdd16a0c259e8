#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/history.hpp"
#include "model/promises.hpp"
#include "sim/live/replica_set.hpp"
#include "sim/live/user_set.hpp"
#include "sim/plan.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::live {

/// How a run goes, while it goes.
struct Progress {
  double elapsed_s = 0;
  std::int64_t acquisitions = 0;
  std::int64_t losses = 0;
  std::map<std::string, std::int64_t> faults;  ///< that bit, by kind
  std::map<std::string, int> active;           ///< those that last now, by kind
  std::string phase;                           ///< "faults", "healing", "cleaning up"
  std::set<std::string> past_proxies;          ///< processes that no fault of a link reaches
};

/// A lock that is not ours: the command of a worker around it, for sh, and what it promises.
struct ForeignLock {
  std::string command;
  model::Promises promises;
};

/// Where a plan runs. `on` fills it; who wants more adds it.
struct LiveRun {
  /// Faults befall these servers, as far as they can; of a URI alone none do. A folder of the
  /// janitor's, made if it is not there.
  [[nodiscard]] static LiveRun on(ReplicaSet& servers, std::string database, Janitor& janitor,
                                  const std::string& folder = "");
  [[nodiscard]] static LiveRun on(UserSet& servers, std::string database, Janitor& janitor,
                                  const std::string& folder = "");
  [[nodiscard]] static LiveRun on(std::string uri, std::string database, Janitor& janitor,
                                  const std::string& folder = "");

  std::string uri;
  ReplicaSet* servers = nullptr;       ///< ours, with faults
  UserSet* user_set = nullptr;         ///< or somebody else's; neither: servers are left alone
  std::string database;                ///< a fresh one for each run
  std::int64_t ttl_period_ms = 1'000;  ///< of the servers' TTL monitor
  /// At most so long it waits, at the end, for that monitor to take dead holders' documents away.
  std::int64_t settle_ms = 600'000;
  std::string folder;                   ///< for the orders of the processes; has to exist
  Janitor* janitor = nullptr;           ///< kills the processes if we end first
  std::function<void(pid_t)> on_start;  ///< called for each process; may be empty
  std::function<void(const Progress&)> on_progress;  ///< about 5 times a second; may be empty
  std::optional<ForeignLock> foreign;                ///< instead of the plan's lock
  std::function<bool()> stop;  ///< asked often; true ends the run early; may be empty
};

/// How far apart faults that name no member put the members' clocks at most: no further than the
/// plan allows for, nor than a lock that is not ours is promised to stand.
[[nodiscard]] std::int64_t clock_margin_ms(const Plan& plan, const LiveRun& run);

/// Runs a plan against a real replica set, in real time: starts the processes, injects the faults,
/// heals, waits until what is bounded is over, and gives back what happened, the server's truth
/// included.
[[nodiscard]] RunResult run_live(const Plan& plan, const LiveRun& run);

}  // namespace leasehold::sim::live
