#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.hpp"
#include "model/history/history.hpp"
#include "sim/plan/fault.hpp"

/// What faults need of a world. Both worlds offer it; `FaultInjector` decides what to do with it.
namespace leasehold::sim {

/// What happens to the bytes between one peer and one member. Nothing is dropped from a connection
/// that lives on, because TCP does not do that either: bytes wait, or the connection is reset.
struct LinkRule {
  bool hold_requests = false;                   ///< bytes to the member wait until the rule changes
  bool hold_replies = false;                    ///< bytes from it
  std::chrono::milliseconds delay_requests{0};  ///< they arrive that much later, even if the sender
                                                ///< has closed by then
  std::chrono::milliseconds delay_replies{0};
  bool refuse = false;  ///< connections are reset, new ones as soon as they name their sender

  bool operator==(const LinkRule&) const = default;
};

/// The sender, and the member that it speaks to. A process speaks by its name, a member as
/// "member-0/beat" (heartbeats, votes) or "member-0/sync" (replication).
struct Link {
  std::string peer;
  int member = 0;

  auto operator<=>(const Link&) const = default;
};
using Links = std::vector<Link>;

/// A process as a fault sees it.
struct ProcessView {
  std::string name;
  std::int64_t place = 0;     ///< in the plan; a successor has the same
  bool holds = false;         ///< it holds a lock, by its own account
  bool awaits_reply = false;  ///< false also where it cannot be known
  bool scripted = false;
};

/// The processes of a run. What was done to one is in the history as its `crash`, `pause` or
/// `resume`. The world writes these events, because it knows when they became true.
class ProcessControl {
 public:
  virtual ~ProcessControl() = default;

  /// Those that faults may hit, in the order of their starts: no dead, paused or doomed ones.
  [[nodiscard]] virtual std::vector<ProcessView> running() = 0;
  /// Returns whether it was alive until then; it is dead when this returns.
  virtual bool kill(const std::string& name) = 0;
  /// Starts another process of the same plan as this one, which is dead.
  virtual void start_successor(const std::string& name) = 0;
  /// `suspends`: pauses its whole machine, so that its clocks do not see it.
  virtual void pause(const std::string& name, bool suspends) = 0;
  /// Does nothing to a process that was killed meanwhile.
  virtual void resume(const std::string& name) = 0;
  virtual void set_wall_clock(const std::string& name, std::int64_t offset_ms) = 0;
  /// Whether the process asked since, and was shown another time than the true one. Certain only if
  /// its clock is a part of the world.
  [[nodiscard]] virtual bool saw_its_wall_clock(const std::string&) { return true; }
};

// The replica set of a run has three sides. Members are numbered from 0. A call may throw when a
// server does not answer; then all, some or nothing of its effect has happened.

/// The members: their processes, which is primary, and their clocks.
class MemberControl {
 public:
  virtual ~MemberControl() = default;

  [[nodiscard]] virtual int size() = 0;
  /// By the latest election, if two say that they are primary; -1: none is.
  [[nodiscard]] virtual int primary_now() = 0;
  [[nodiscard]] virtual bool is_primary(int member) = 0;
  /// Whether commands of the laboratory reach it now.
  [[nodiscard]] virtual bool reachable(int member) = 0;

  /// True: it was not primary before, and became it within the limit.
  virtual bool step_up(int member, std::chrono::milliseconds limit) = 0;
  /// The primary steps down, with no successor ready. Returns whether it did.
  virtual bool step_down() = 0;
  virtual void kill(const std::vector<int>& members) = 0;     ///< SIGKILL, all at once
  virtual void restart(const std::vector<int>& members) = 0;  ///< all at once, too
  virtual void wipe(int member) = 0;                          ///< REQUIRES: it is dead
  virtual void stop(const std::vector<int>& members) = 0;     ///< SIGSTOP
  virtual void resume(const std::vector<int>& members) = 0;
  /// Whether all have all data, also those that were wiped.
  [[nodiscard]] virtual bool all_have_all_data() = 0;

  /// From now on its clock is `ahead_ms` from true time, and runs fast by `rate_ppm`.
  virtual void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) = 0;
  [[nodiscard]] virtual std::int64_t clock_ahead_ms(int member) = 0;  ///< as it was set
  /// Whether its answers have a false time, off to the side on which it was set.
  [[nodiscard]] virtual bool shows_its_clock(int member) = 0;

  /// After the faults: restores all but the index, until every member takes writes.
  virtual void settle() = 0;
};

/// What faults do with commands and documents.
class DataControl {
 public:
  virtual ~DataControl() = default;

  virtual void set_ttl_monitor(bool on) = 0;
  [[nodiscard]] virtual std::int64_t ttl_passes() = 0;  ///< so far, of all members
  /// After how many seconds the TTL index lets documents expire; nothing: there is no index.
  [[nodiscard]] virtual std::optional<std::int64_t> ttl_seconds() = 0;
  /// Drops, makes or changes the index. REQUIRES: `ttl_seconds` saw it once.
  virtual void set_ttl_seconds(std::optional<std::int64_t> seconds) = 0;

  /// Returns whether there was anything to drop.
  virtual bool drop_locks() = 0;
  /// One lock's document, by `pick`. Returns its owner; empty: there is none.
  virtual std::string delete_lock(std::int64_t pick) = 0;
  /// Names of the locks that are held, in order.
  [[nodiscard]] virtual std::vector<std::string> held_locks() = 0;
  /// A command of the lock that an administrator sends to the primary. `answered` is called at once
  /// or later, and never if no answer comes.
  using Answered = std::function<void(const core::Reply&)>;
  virtual void ask(const core::Command& command, Answered answered) = 0;

  /// The next `count` writes of locks get this error; `executed`: but are executed.
  virtual void fail_next(std::int64_t count, int code, bool executed) = 0;
  /// Returns how many failed since then.
  virtual std::int64_t stop_failing() = 0;

  /// Commands that wait inside a server: those of one process, each for `wait_ms`, or all at the
  /// primary together, depending on the world.
  struct Inside {
    std::string hit;
    std::int64_t for_ms;
    std::function<void()> begin;
    std::function<bool()> end;  ///< returns whether any command waited
  };
  [[nodiscard]] virtual std::optional<Inside> hold_inside(const std::string& process,
                                                          std::int64_t wait_ms,
                                                          std::int64_t for_ms) = 0;
};

/// The links between members, and between them and processes.
class LinkControl {
 public:
  virtual ~LinkControl() = default;

  /// How many members there are.
  [[nodiscard]] virtual int size() = 0;
  /// The member that processes send to; -1: any.
  [[nodiscard]] virtual int sent_to() = 0;
  virtual void set_link_rule(const Link& link, const LinkRule& rule) = 0;
  /// What waits in the link is lost.
  virtual void reset_link(const Link& link) = 0;
  /// How often rules affected what the link carries.
  [[nodiscard]] virtual std::int64_t touched(const Link& link) = 0;
};

struct ServerControl {
  LinkControl& links;
  MemberControl* members;  ///< null: the user's servers, which are left alone
  DataControl* data;       ///< null: no fault can reach the documents of such servers
};

/// A run, as faults need it.
struct ClusterControl {
  ProcessControl& processes;
  std::optional<ServerControl> servers;  ///< nothing: their links are left alone, too
  std::function<std::int64_t()> now_ns;
  std::function<void(std::int64_t at_ns, std::function<void()> run)> call_at;
  std::function<void(model::Event&&)> emit;
  std::function<void(FaultPlan::Kind)> count_effect;
  /// Repeats `attempt` until it returns true; at the end throws what it last threw.
  std::function<void(const std::string& what, const std::function<bool()>& attempt)> insist;
};

}  // namespace leasehold::sim
