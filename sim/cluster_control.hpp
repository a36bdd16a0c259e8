#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/history.hpp"
#include "sim/faults/fault.hpp"
#include "sim/link_rules.hpp"

/// What faults need of a world. Both worlds offer it; `FaultInjector` decides what to do with it.
namespace leasehold::sim {

/// A process as a fault sees it.
struct ProcessView {
  std::string name;
  std::int64_t place = 0;     ///< in the plan; also of the successor of one that was killed
  bool holds = false;         ///< a lock, by its own account
  bool awaits_reply = false;  ///< false also where nobody can know
  bool scripted = false;
};

/// The processes of a run. What was done to one is in the history as its `crash`, `pause` or
/// `resume`: written by the world, which knows when it was true.
class ProcessControl {
 public:
  virtual ~ProcessControl() = default;

  /// Those that faults may befall, in the order of their starts: not the dead and the paused ones,
  /// and not the doomed.
  [[nodiscard]] virtual std::vector<ProcessView> running() = 0;
  /// Whether it was alive until then; it is dead when this returns.
  virtual bool kill(const std::string& name) = 0;
  /// Another of the same plan as this one, which is dead.
  virtual void start_successor(const std::string& name) = 0;
  /// `suspends`: its machine, whose clocks do not see it.
  virtual void pause(const std::string& name, bool suspends) = 0;
  /// Of one that was killed meanwhile: nothing.
  virtual void resume(const std::string& name) = 0;
  virtual void set_wall_clock(const std::string& name, std::int64_t offset_ms) = 0;
  /// Whether the process asked since, and was shown another time than the true one: certain where
  /// its clock is a part of the world.
  [[nodiscard]] virtual bool saw_its_wall_clock(const std::string&) { return true; }
};

// The replica set of a run has three sides. Members are numbered from 0. A call may throw when a
// server has no answer for us; then it did all of what it says, or some, or nothing.

/// The members: their processes, who is primary, and their clocks.
class MemberControl {
 public:
  virtual ~MemberControl() = default;

  [[nodiscard]] virtual int size() = 0;
  /// Of the latest election, if two say that they are; -1: nobody is.
  [[nodiscard]] virtual int primary() = 0;
  [[nodiscard]] virtual bool is_primary(int member) = 0;
  /// Whether orders of ours reach it now.
  [[nodiscard]] virtual bool reachable(int member) = 0;

  /// Whether it was not primary before, and is within that time.
  virtual bool step_up(int member, std::chrono::milliseconds limit) = 0;
  /// The primary leaves its office, with no successor ready. Whether it did.
  virtual bool step_down() = 0;
  virtual void kill(const std::vector<int>& members) = 0;     ///< SIGKILL, all at once
  virtual void restart(const std::vector<int>& members) = 0;  ///< all at once, too
  virtual void wipe(int member) = 0;                          ///< REQUIRES: it is dead
  virtual void stop(const std::vector<int>& members) = 0;     ///< SIGSTOP
  virtual void resume(const std::vector<int>& members) = 0;
  /// Whether all have all data, also those that were wiped.
  [[nodiscard]] virtual bool all_have_all_data() = 0;

  /// So far from true time from now on, and running so much fast.
  virtual void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) = 0;
  [[nodiscard]] virtual std::int64_t clock_ahead_ms(int member) = 0;  ///< as it was set
  /// Whether its answers have a time that is not the true one, on the side on which it was set.
  [[nodiscard]] virtual bool shows_its_clock(int member) = 0;

  /// After the faults: all is as it should be but the index, and every member takes writes.
  virtual void settle() = 0;
};

/// What they do with commands and documents.
class DataControl {
 public:
  virtual ~DataControl() = default;

  virtual void set_ttl_monitor(bool on) = 0;
  [[nodiscard]] virtual std::int64_t ttl_passes() = 0;  ///< so far, of all members
  /// After how many seconds the TTL index lets documents expire; nothing: there is no index.
  [[nodiscard]] virtual std::optional<std::int64_t> ttl_seconds() = 0;
  /// Drops, makes or changes the index. REQUIRES: `ttl_seconds` saw it once.
  virtual void set_ttl_seconds(std::optional<std::int64_t> seconds) = 0;

  /// Whether there was anything to drop.
  virtual bool drop_locks() = 0;
  /// One lock's document, by `pick`: whose it was; empty: there is none.
  virtual std::string delete_lock(std::int64_t pick) = 0;

  /// The next `count` writes of locks get this error; `executed`: and are executed all the same.
  virtual void fail_next(std::int64_t count, int code, bool executed) = 0;
  /// How many did, since then.
  virtual std::int64_t stop_failing() = 0;

  /// Commands that wait inside a server: those of one process, each for `wait_ms`, or those of
  /// all at the primary for that time together, as the world can have it.
  struct Inside {
    std::string hit;
    std::int64_t for_ms;
    std::function<void()> begin;
    std::function<bool()> end;  ///< whether any command waited
  };
  [[nodiscard]] virtual std::optional<Inside> hold_inside(const std::string& process,
                                                          std::int64_t wait_ms,
                                                          std::int64_t for_ms) = 0;
};

/// What lies between them, and between them and processes.
class LinkControl {
 public:
  virtual ~LinkControl() = default;

  virtual void set_link_rule(const Link& link, const LinkRule& rule) = 0;
  /// What waits in the link is lost.
  virtual void reset_link(const Link& link) = 0;
  /// How often rules did something to what the link carries.
  [[nodiscard]] virtual std::int64_t touched(const Link& link) = 0;
};

struct ServerControl {
  MemberControl& members;
  DataControl& data;
  LinkControl& links;
};

/// A run, as faults need it.
struct ClusterControl {
  ProcessControl& processes;
  std::optional<ServerControl> servers;  ///< nothing: somebody else's, which are left alone
  std::function<std::int64_t()> now_ns;
  std::function<void(std::int64_t at_ns, std::function<void()> run)> call_at;
  std::function<void(model::Event&&)> emit;
  std::function<void(FaultPlan::Kind)> count_effect;
  /// Repeats it until it says true; in the end throws what it last threw.
  std::function<void(const std::string& what, const std::function<bool()>& attempt)> insist;
};

}  // namespace leasehold::sim
