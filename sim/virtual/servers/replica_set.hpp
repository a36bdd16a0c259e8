#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "sim/plan/random.hpp"
#include "sim/virtual/commands/client_commands.hpp"
#include "sim/virtual/servers/elections.hpp"
#include "sim/virtual/servers/replication.hpp"

/// A replica set of three in virtual time: oplog, majority commit, heartbeats, elections, rollback,
/// clocks of its own for each member, TTL monitor. It is all that the lock sees of a real one,
/// within the limits of `sim/README.md`.
namespace leasehold::sim::simulated {

/// The TTL monitor of each member, and its index: decides when documents are deleted.
///
/// By the manual on TTL indexes: a background task removes expired documents, once in
/// `ttlMonitorSleepSecs`, on the primary alone; secondaries replicate the deletions. So a document
/// may stay for a period after it expired, and longer while there is no primary.
///
/// REQUIRES: it outlives the queue's events; all of them refer to it.
class TtlMonitors {
 public:
  TtlMonitors(Members& members, Replication& replication)
      : members_(members), replication_(replication) {}

  /// Each monitor has a phase of its own, because a new primary does not go on with the sleep of
  /// the primary before.
  void start(Random& random);
  /// For a member that was dead: its monitor begins with a whole sleep.
  void restart(int member) { sleep(member, members_.settings.ttl_period_ns); }
  /// The monitor goes on sleeping and waking, so switching it on does not begin a new period.
  void set(int member, bool on) { off_[member] = !on; }

  [[nodiscard]] std::int64_t deletions() const { return deletions_; }

 private:
  void pass(int member);
  void sleep(int member, std::int64_t span_ns);

  Members& members_;
  Replication& replication_;
  PerMember<bool> off_{};
  std::int64_t deletions_ = 0;
};

/// The whole set, for clients and faults. Member 0 is primary at the start. All three vote, have
/// data and the same priority.
///
/// ```
///   ReplicaSet ── ClientCommands ──┐
///        │  └──── TtlMonitors ─────┼──> Replication ──> Members
///        └─────── Elections ───────┘
/// ```
/// What befalls processes and disks is here, as it concerns all of these; the rest is theirs.
///
/// Virtual time: only what is asked of the queue takes time (the way between members, waiting,
/// sleeping). A command executes in no time, and so does an election. Determinism: members are
/// always gone through in the order of their numbers, and all randomness is of one generator, which
/// the world shares.
///
/// REQUIRES: it outlives the queue's events; all of them refer to it.
class ReplicaSet {
 public:
  static constexpr int kMembers = simulated::kMembers;
  using Answer = ServerAnswer;
  using Reply = ServerReply;
  using Settings = ServerSettings;
  using Request = ClientCommands::Request;

  using Listener = Replication::Listener;
  ReplicaSet(EventQueue& queue, Random& random, const Settings& settings, Listener listener);

  /// `reply` is called once: at once, later, or never if the member is stopped for ever.
  void command(int member, Request request, Reply reply) {
    commands_.command(member, std::move(request), std::move(reply));
  }
  void fenced_write(int member, std::shared_ptr<const FencedWrite> write, Reply reply) {
    commands_.fenced_write(member, std::move(write), std::move(reply));
  }
  [[nodiscard]] int primary() const { return elections_.primary(); }
  [[nodiscard]] int primary_for(const std::array<bool, kMembers>& reachable) const {
    return elections_.primary_for(reachable);
  }

  // Faults. Members are numbered 0, 1, 2.
  // Each takes effect at once, within the event that asks for it.
  void step_up(int member) { elections_.step_up(member); }
  void step_down_primary();  ///< without a successor that is ready
  void stop(int member);     ///< SIGSTOP
  void go_on(int member);    ///< SIGCONT
  void kill(int member);     ///< SIGKILL; writes not in its journal are gone
  void restart(int member);
  /// Empties its disk. It votes, but before it has copied the primary's data it neither stands for
  /// election nor counts for a majority. REQUIRES: it is dead.
  void wipe(int member);
  [[nodiscard]] bool copies() const;  ///< whether a member copies all data, or has to
  /// Both directions. Links of clients are the network's; cutting these does not touch them.
  void set_link(int a, int b, bool up);
  /// Fetching fails; heartbeats and votes go on.
  void fail_fetch(int member, int source) { replication_.fail_fetch(member, source); }
  /// One way, on top of the usual. It does not delay heartbeats, so it causes no election.
  void set_replication_delay(int member, std::int64_t delay_ns);
  /// From now on its clock is off from true time by `offset_ms`, and runs fast by `rate_ppm`. A
  /// secondary that jumps by more than the election timeout takes the primary for dead at once.
  /// Only the wall clock is set: messages, the journal and a command's wait inside go by true time.
  void set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm);
  [[nodiscard]] std::int64_t clock_ms(int member) const { return members_.clock_ms(member); }
  void set_ttl_monitor(int member, bool on) { ttl_monitors_.set(member, on); }
  /// Whether a secondary fetches what is new; heartbeats and votes go on either way.
  void set_fetching(int member, bool on);
  /// The next `count` commands of any client at the primary of that moment; 0 ends it.
  void fail_next(int count, int code, bool executed) {
    commands_.errors.fail_next(count, code, executed);
  }

  [[nodiscard]] std::int64_t behind_since() const { return replication_.behind_since(); }

  // As a shard of a cluster; `Shards` decides.
  [[nodiscard]] bool reaches(int a, int b) const { return members_.reaches(a, b); }
  /// The running primary's; 0: there is none.
  [[nodiscard]] std::int64_t term() const;
  [[nodiscard]] const Residence& residence() const { return members_.residence; }
  void set_residence(const Residence& residence) { members_.residence = residence; }
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

  /// What happened so far.
  struct Counts {
    std::int64_t elections, rolled_back, ttl_deletions, injected_errors, wtimeouts;
  };
  [[nodiscard]] Counts counts() const {
    return {elections_.held(), replication_.rolled_back(), ttl_monitors_.deletions(),
            commands_.errors.count(), commands_.timed_out()};
  }

 private:
  void may_fail_to_fetch(int member, int source);

  Random& random_;
  Members members_;
  Replication replication_;
  Elections elections_;
  TtlMonitors ttl_monitors_;
  ClientCommands commands_;
};

}  // namespace leasehold::sim::simulated
