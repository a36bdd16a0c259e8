#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/history/history.hpp"
#include "model/workers/promises.hpp"
#include "sim/live/stores/store.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/plan/plan.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::live {

/// The state of a run while it goes.
struct Progress {
  double elapsed_s = 0;
  std::int64_t acquisitions = 0;
  std::int64_t losses = 0;
  std::map<std::string, std::int64_t> faults;  ///< that had an effect, by kind
  std::map<std::string, int> active;           ///< faults that last now, by kind
  std::string phase;                           ///< "faults", "healing", "cleaning up"
  std::set<std::string> past_proxies;          ///< processes that no fault of a link reaches
};

/// A lock that is not ours: the command of a worker around it, for sh, and what it promises.
struct ForeignLock {
  std::string command;
  model::Promises promises;
};

/// Where a plan runs. `on` fills it; a caller that wants more adds it.
struct LiveRun {
  /// The folder is a janitor's, and is made if it is not there.
  [[nodiscard]] static LiveRun on(StoreAt store, std::string database, Janitor& janitor,
                                  const std::string& folder = "");

  StoreAt store;
  std::string database;                ///< a fresh one for each run
  std::int64_t ttl_period_ms = 1'000;  ///< the period of the servers' TTL monitor
  /// The longest wait, at the end, for that monitor to take dead holders' documents away.
  std::int64_t settle_ms = 600'000;
  std::string folder;                   ///< for the orders of the processes; has to exist
  Janitor* janitor = nullptr;           ///< kills the processes if we end first
  std::function<void(pid_t)> on_start;  ///< called for each process; may be empty
  std::function<void(const Progress&)> on_progress;  ///< about 5 times a second; may be empty
  std::optional<ForeignLock> foreign;                ///< instead of the plan's lock
  std::function<bool()> stop;  ///< asked often; true ends the run early; may be empty
};

/// How far apart faults without a member's name put the members' clocks at most: no further than
/// the plan allows, nor than a lock that is not ours is promised.
[[nodiscard]] std::int64_t clock_margin_ms(const Plan& plan, const LiveRun& run);

/// Runs a plan against real servers, in real time: starts the processes, injects the faults,
/// heals, waits until what is bounded is over, and returns what happened, with the server's truth.
[[nodiscard]] RunResult run_live(const Plan& plan, const LiveRun& run);

// What the harness asks of the history that it writes, and how it puts it into its form. Pure.

/// Whether a lock's document is left in the server's truth, as far as that was read.
[[nodiscard]] bool documents_left(const model::History& history);

/// Nothing of a process may stand after the end, whenever its line was read.
/// REQUIRES: sorted by time, with one `finish`.
void put_end_last(model::History& history);

/// When a member was away because of the run.
struct Away {
  std::string member;  ///< empty: any, for members are started anew while we heal
  std::int64_t from_ns = 0, to_ns = 0;
};
/// The times of faults that stop or kill members; one that has not ended lasts until now.
[[nodiscard]] std::vector<Away> members_away(const model::History& history, std::int64_t now_ns);
/// Whether a `stall` is of a member that the run stopped or killed. The machine's own never is.
[[nodiscard]] bool is_ours(const model::Event& stall, const std::vector<Away>& away);

}  // namespace leasehold::sim::live
