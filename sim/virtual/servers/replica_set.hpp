#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/virtual/commands/client_commands.hpp"

/// A replica set of three in virtual time: oplog, majority commit, heartbeats, elections, rollback,
/// clocks of its own for each member, TTL monitor. It is all that the lock sees of a real one,
/// within the limits of `sim/README.md`.
namespace leasehold::sim::simulated {

/// The whole set, for clients and faults. Member 0 is primary at the start. All three vote, have
/// data and the same priority. What befalls processes and disks is here, as it concerns all layers
/// below, and the TTL monitor of each member.
///
/// The monitor goes by the manual on TTL indexes: a background task removes expired documents,
/// once in `ttlMonitorSleepSecs`, on the primary alone; secondaries replicate the deletions. So a
/// document may stay for a period after it expired, and longer while there is no primary.
///
/// Virtual time: only what is asked of the queue takes time (the way between members, waiting,
/// sleeping). A command executes in no time, and so does an election. Determinism: members are
/// always gone through in the order of their numbers, and all randomness is of one generator, which
/// the world shares.
///
/// REQUIRES: it outlives the queue's events; all of them refer to it.
class ReplicaSet : public ClientCommands {
 public:
  ReplicaSet(EventQueue& queue, Random& random, const ServerSettings& settings, Listener listener);

  // Faults. Members are numbered 0, 1, 2.
  // Each takes effect at once, within the event that asks for it.
  void step_down_primary();  ///< without a successor that is ready
  void stop(int member) { at(member).running = false; }  ///< SIGSTOP
  void go_on(int member);    ///< SIGCONT
  void kill(int member);     ///< SIGKILL; writes not in its journal are gone
  void restart(int member);
  /// Empties its disk. It votes, but before it has copied the primary's data it neither stands for
  /// election nor counts for a majority. REQUIRES: it is dead.
  void wipe(int member);
  [[nodiscard]] bool copies() const;  ///< whether a member copies all data, or has to
  /// Both directions. Links of clients are the network's; cutting these does not touch them.
  void set_link(int a, int b, bool up);
  /// One way, on top of the usual. It does not delay heartbeats, so it causes no election.
  void set_replication_delay(int member, std::int64_t delay_ns) { at(member).delay_ns = delay_ns; }
  /// From now on its clock is off from true time by `offset_ms`, and runs fast by `rate_ppm`. A
  /// secondary that jumps by more than the election timeout takes the primary for dead at once.
  /// Only the wall clock is set: messages, the journal and a command's wait inside go by true time.
  void set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm);
  /// The monitor goes on sleeping and waking, so switching it on does not begin a new period.
  void set_ttl_monitor(int member, bool on) { ttl_off_[member] = !on; }
  /// Whether a secondary fetches what is new; heartbeats and votes go on either way.
  void set_fetching(int member, bool on) { at(member).fetches = on; }

  // As a shard of a cluster; `Shards` decides.
  /// The running primary's; 0: there is none.
  [[nodiscard]] std::int64_t term() const;
  /// An entry that changes nothing. REQUIRES: there is a running primary.
  void note();
  /// Whether a majority has all that the running primary has. REQUIRES: there is one.
  [[nodiscard]] bool is_confirmed() const;
  /// The locks' database becomes what it is at the giver's primary, by writes that come after all
  /// of the giver's. No other client sees them. REQUIRES: both have a running primary.
  void receive(const ReplicaSet& giver);
  /// Another client's writes, to a collection that stays where it is. Nothing without a primary.
  std::optional<Timestamp> write_elsewhere(std::int64_t count);

  // What an administrator does, at once on all members.
  [[nodiscard]] std::optional<TtlIndex> ttl_index() const;
  void set_ttl_index(const std::optional<TtlIndex>& index);
  /// At the primary. Returns whether there was a collection.
  bool drop_locks();
  /// The name that was deleted; empty: none.
  std::string delete_lock(std::int64_t pick);
  /// At the primary: those with a date to come, however near.
  [[nodiscard]] std::vector<std::string> held_locks() const;

  std::int64_t ttl_deletions = 0;  ///< so far

 private:
  void ttl_pass(int member);
  void sleep_before_ttl_pass(int member, std::int64_t span_ns);
  void may_fail_to_fetch(int member, int source);

  PerMember<bool> ttl_off_{};
};

}  // namespace leasehold::sim::simulated
