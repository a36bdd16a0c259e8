#pragma once

#include <algorithm>
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
  /// Each monitor has a phase of its own, because a new primary does not go on with the sleep of
  /// the primary before.
  ReplicaSet(EventQueue& queue_, Random& random, const ServerSettings& settings_, Listener listener)
      : ClientCommands(queue_, random, settings_, std::move(listener)) {
    // A draw for each member, in their order.
    for (int m = 0; m < kMembers; ++m) {
      sleep_before_ttl_pass(m, random.between(1, settings.ttl_period_ns / kGrain) * kGrain);
    }
    start_beats();
  }

  // Faults. Members are numbered 0, 1, 2.
  // Each takes effect at once, within the event that asks for it.

  /// Without a successor that is ready.
  void step_down_primary() {
    const int old = primary();
    if (old >= 0) leave_office(old);
  }
  void stop(int member) { at(member).running = false; }  ///< SIGSTOP
  /// SIGCONT.
  void go_on(int member) {
    Member& m = at(member);
    if (m.running || !m.alive) return;
    m.running = true;
    // Before the times of hearing are set anew below, which is what it reads.
    if (random_.chance(kStandsAfterAStop)) stand_if_overdue(member);
    m.heard_primary = wall_ns(member);
    // It does not step down for the time in which it was stopped: it was not awake to miss others.
    m.heard_majority = wall_ns(member);
    // Whether it reads first what its peers say, or what clients sent.
    if (m.is_primary && random_.chance(50)) hear_all(member);
    // Taken out first: what runs may be held back again, if it stops the member.
    const auto held_back = std::exchange(m.held_back, {});
    for (const HeldBack& held : held_back) held.run();
  }

  /// SIGKILL; writes that are not in its journal are gone.
  void kill(int member) {
    Member& m = at(member);
    m.alive = m.is_primary = false;
    // From here on no timer, sleep or wait of the process does anything.
    ++m.life;
    m.data.lose_what_is_not_journaled(queue.now());
    // Out of the member first: the client of a broken connection may send elsewhere at once.
    const auto waiters = std::exchange(m.waiters, {});
    const auto held_back = std::exchange(m.held_back, {});
    for (const Waiter& w : waiters) w.reply(ServerAnswer::broken, {});
    for (const HeldBack& held : held_back) {
      // What the member itself was to do has no client to be answered.
      if (held.client) held.client(ServerAnswer::broken, {});
    }
    m.streams.end(error_reply(kInterruptedByStateChange, "killed"));
  }

  void restart(int member) {
    Member& m = at(member);
    if (m.alive) return;
    m.alive = m.running = true;
    // It gives a primary a whole election timeout to be heard.
    m.heard_primary = wall_ns(member);
    sleep_before_ttl_pass(member, settings.ttl_period_ns);
  }

  /// Empties its disk. It votes, but before it has copied the primary's data it neither stands for
  /// election nor counts for a majority. REQUIRES: it is dead.
  /// By the manual on resyncing a member: one that starts with an empty folder copies all data
  /// anew.
  void wipe(int member) {
    Member& m = at(member);
    m.data.clear();
    // Votes were in the data too; that it may vote twice in a term cannot happen here, for an
    // election is one event.
    m.term = 0;
    m.logical = {};
    m.ttl_index.reset();
    m.copies = true;
    // Or a primary would go on counting, for a majority, what this one had.
    for (Member& other : all_) other.match[member] = 0;
  }

  /// Whether a member copies all data, or has to.
  [[nodiscard]] bool copies() const {
    return std::ranges::any_of(all_, [](const Member& m) { return m.copies; });
  }
  /// Both directions. Links of clients are the network's; cutting these does not touch them.
  void set_link(int a, int b, bool up) {
    Members::set_link(a, b, up);
    if (!up) {
      may_fail_to_fetch(a, b);
      may_fail_to_fetch(b, a);
      return;
    }
    // What waited for the link goes on at once, and not with the next beat.
    for (const int m : {a, b}) {
      if (works(m) && at(m).is_primary) send_news(m);
    }
  }

  /// One way, on top of the usual. It does not delay heartbeats, so it causes no election.
  void set_replication_delay(int member, std::int64_t delay_ns) { at(member).delay_ns = delay_ns; }
  /// From now on its clock is off from true time by `offset_ms`, and runs fast by `rate_ppm`. A
  /// secondary that jumps by more than the election timeout takes the primary for dead at once.
  /// Only the wall clock is set: messages, the journal and a command's wait inside go by true time.
  void set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm) {
    at(member).clock.set(queue.now(), offset_ms, rate_ppm);
    // Measured, 12 of 12: a secondary stands at once if its clock jumps by more than the election
    // timeout. Nothing else that waits for this clock is notified (`Members::at_wall`).
    if (works(member)) stand_if_overdue(member);
  }

  /// The monitor goes on sleeping and waking, so switching it on does not begin a new period.
  void set_ttl_monitor(int member, bool on) { ttl_off_[member] = !on; }
  /// Whether a secondary fetches what is new; heartbeats and votes go on either way.
  void set_fetching(int member, bool on) { at(member).fetches = on; }

  // As a shard of a cluster; `Shards` decides.
  /// The running primary's; 0: there is none.
  [[nodiscard]] std::int64_t term() const {
    const int p = primary();
    return p < 0 ? 0 : at(p).term;
  }
  /// An entry that changes nothing. REQUIRES: there is a running primary.
  void note() {
    write(primary(), note_in_oplog());
    send_news(primary());
  }
  /// Whether a majority has all that the running primary has. REQUIRES: there is one.
  /// An old primary hears from no majority.
  [[nodiscard]] bool is_confirmed() const {
    const MemberData& data = at(primary()).data;
    return data.committed() == data.log().size();
  }
  /// The locks' database becomes what it is at the giver's primary, by writes that come after all
  /// of the giver's. No other client sees them. REQUIRES: both have a running primary.
  /// Cluster time goes along with a move, as with every message between servers.
  void receive(const ReplicaSet& giver) {
    const int to = primary();
    const Member& from = giver.at(giver.primary());
    Member& m = at(to);
    m.logical = std::max(m.logical, from.logical);
    // Also if there is no document: the catalogue has a new entry.
    write(to, note_in_oplog());
    // A copy, as each deletion takes one out.
    const auto left_from_before = m.data.locks().documents();
    for (const auto& [id, document] : left_from_before) {
      if (!from.data.locks().find(id)) write(to, {id, nullptr});
    }
    for (const auto& [id, document] : from.data.locks().documents()) {
      write(to, {id, document});
    }
    for (const auto& [id, document] : from.data.fences().documents()) {
      write(to, {id, document}, std::make_shared<const FencedWrite>());
    }
    set_ttl_index(from.ttl_index);
    send_news(to);
  }

  /// Another client's writes, to a collection that stays where it is. Nothing without a primary.
  std::optional<Timestamp> write_elsewhere(std::int64_t count) {
    const int p = primary();
    if (p < 0) return std::nullopt;
    for (; count > 0; --count) at(p).elsewhere = next_time(p);
    return at(p).elsewhere;
  }

  // What an administrator does, at once on all members.
  [[nodiscard]] std::optional<TtlIndex> ttl_index() const {
    const int p = primary();
    return p < 0 ? std::nullopt : at(p).ttl_index;
  }
  void set_ttl_index(const std::optional<TtlIndex>& index) {
    // At once on all: a real one replicates, in much less time than anything here depends on.
    for (Member& m : all_) m.ttl_index = index;
  }
  /// At the primary. Returns whether there was a collection.
  /// The change streams of a collection end with it.
  bool drop_locks() {
    const int p = primary();
    if (p < 0) return false;
    Member& m = at(p);
    // A copy, as each deletion takes one out.
    const auto locks = m.data.locks().documents();
    // As deletions one by one, which is what the harness reads as the truth. The primary's streams
    // end before a majority has them, by the error that mongod answers.
    for (const auto& [id, document] : locks) write(p, {id, nullptr});
    set_ttl_index(std::nullopt);
    m.streams.end(error_reply(kQueryPlanKilled, "the collection was dropped"));
    send_news(p);
    return true;
  }

  /// The name that was deleted; empty: none.
  std::string delete_lock(std::int64_t pick) {
    const int p = primary();
    if (p < 0) return "";
    const auto& locks = at(p).data.locks().documents();
    if (locks.empty()) return "";
    // By place in the order of names, so the plan's number means the same in each run.
    const auto found = std::next(locks.begin(), pick % static_cast<std::int64_t>(locks.size()));
    const auto name = found->first;
    write(p, {name, nullptr});
    send_news(p);
    return name;
  }

  /// At the primary: those with a date to come, however near.
  [[nodiscard]] std::vector<std::string> held_locks() const {
    std::vector<std::string> held;
    const int p = primary();
    if (p < 0) return held;
    for (const auto& [id, document] : at(p).data.locks().documents()) {
      const Value* expires = document->find("expiresAt"_key);
      if (expires != nullptr && expires->is<Date>() && expires->as<Date>()->ms > 0) {
        held.push_back(id);
      }
    }
    return held;
  }

  std::int64_t ttl_deletions = 0;  ///< so far

 private:
  static constexpr int kStandsAfterAStop = 20;  ///< percent: 2 of 8 were seen to

  void ttl_pass(int member) {
    const Member& m = at(member);
    // A secondary deletes nothing of its own: it gets the primary's deletions. Its monitor runs all
    // the same, and keeps its phase.
    const bool here = residence.is == Residence::Is::here;
    if (m.is_primary && !ttl_off_[member] && m.ttl_index && here) {
      // By the primary's clock alone: one that is an hour ahead deletes what has an hour to go.
      const auto gone = expired(m.data.locks(), *m.ttl_index, Date{clock_ms(member)});
      Timestamp time;
      for (const auto& id : gone) {
        // Since 6.1 mongod writes those of a pass at one time.
        if (!settings.ttl_deletes_at_once || id == gone.front()) time = next_time(member);
        append(member, time, {id, nullptr});
      }
      ttl_deletions += static_cast<std::int64_t>(gone.size());
      if (!gone.empty()) send_news(member);
    }
    sleep_before_ttl_pass(member, settings.ttl_period_ns);
  }

  /// From the end of a pass, by the wall clock: set back by two hours, it sleeps for two hours
  /// more.
  void sleep_before_ttl_pass(int member, std::int64_t span_ns) {
    at_wall(member, wall_ns(member) + span_ns, [this, member] { ttl_pass(member); });
  }
  void may_fail_to_fetch(int member, int source) {
    const auto percent = settings.failed_fetch_percent;
    const bool fetches = works(member) && at(source).is_primary;
    // Nothing is drawn where it never happens.
    if (fetches && percent > 0 && random_.chance(percent)) fail_fetch(member, source);
  }

  PerMember<bool> ttl_off_{};
};

}  // namespace leasehold::sim::simulated
