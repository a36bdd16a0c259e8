#include "sim/virtual/replica_set.hpp"

#include <algorithm>
#include <utility>

#include "sim/virtual/server_errors.hpp"

namespace leasehold::sim::simulated {
namespace {

constexpr int kStandsAfterAStop = 20;  ///< percent: 2 of 8 were seen to

}  // namespace

ReplicaSet::ReplicaSet(EventQueue& queue, Random& random, const Settings& settings,
                       std::function<void(const Entry&)> on_committed)
    : queue_(queue), random_(random), settings_(settings), on_committed_(std::move(on_committed)) {
  for (auto& row : links_) row.fill(true);
  members_[0].is_primary = true;
  // Each monitor has a phase of its own: one that is elected does not go on with the sleep of the
  // primary before. A draw for each member, in their order.
  for (int m = 0; m < kMembers; ++m) {
    ttl_sleep(m, random_.between(1, settings_.ttl_period_ns / kGrain) * kGrain);
  }
  queue_.after(settings_.heartbeat_ns, [this] { beat(); });
}

std::int64_t ReplicaSet::wall_ns(int member) const {
  const Member& m = members_[at(member)];
  // In whole ms, so that the clock stays on the grain; multiplied before it is divided.
  const auto drifted = (queue_.now() - m.clock_set_ns) / kMs * m.clock_rate_ppm / 1'000'000;
  return queue_.now() + (m.clock_offset_ms + drifted) * kMs;
}

std::int64_t ReplicaSet::clock_ms(int member) const {
  return (settings_.epoch_ms * kMs + wall_ns(member)) / kMs;
}

void ReplicaSet::when_running(int member, std::uint64_t life, std::function<void()> run) {
  Member& m = members_[at(member)];
  if (m.life != life) return;
  if (m.running) return run();
  // When it goes on, these run in the order in which they came due.
  m.held_back.push_back({std::move(run)});
}

void ReplicaSet::at_wall(int member, std::int64_t wall, std::function<void()> run) {
  if (wall == Deadline::kNever) return;
  const auto left = wall - wall_ns(member);
  if (left <= 0) return run();
  // Nothing is withdrawn or moved when the clock is set: the event comes when the time that was
  // left then is over, and looks again. So a step ahead makes a wait no shorter, a step back longer
  // (measured: wtimeout, maxTimeMS and the TTL monitor's sleep alike).
  const auto life = members_[at(member)].life;
  queue_.after(left, [this, member, life, wall, run = std::move(run)] {
    when_running(member, life, [this, member, wall, run] { at_wall(member, wall, run); });
  });
}

void ReplicaSet::stop(int member) { members_[at(member)].running = false; }

void ReplicaSet::go_on(int member) {
  Member& m = members_[at(member)];
  if (m.running || !m.alive) return;
  m.running = true;
  // Before the times of hearing are set anew below, which is what it reads.
  if (random_.chance(kStandsAfterAStop)) stand_if_overdue(member);
  m.heard_primary = wall_ns(member);
  // It does not step down for the time in which it was stopped: it was not awake to miss anybody.
  m.heard_majority = wall_ns(member);
  // Whether it reads first what its peers say, or what clients sent.
  if (m.is_primary && random_.chance(50)) {
    for (int other = 0; other < kMembers; ++other) {
      if (other != member) heartbeat(member, other);
    }
  }
  const auto held_back = std::exchange(m.held_back, {});
  // Taken out first: what runs may be held back again, if it stops the member.
  for (const HeldBack& held : held_back) held.run();
}

void ReplicaSet::kill(int member) {
  Member& m = members_[at(member)];
  m.alive = m.is_primary = false;
  // From here on no timer, sleep or wait of the process does anything.
  ++m.life;
  journal_by_time(m);
  // What a majority has, a majority's journals have. Measured: of all members killed at once, w: 1
  // writes since the last flush are gone (8 of 8), acknowledged majority writes never.
  if (const auto left = std::max(m.journaled, m.committed); m.log.size() > left) {
    m.log.resize(left);
    rebuild(m);
  }
  // Out of the member first: who hears of a broken connection may send elsewhere at once.
  const auto waiters = std::exchange(m.waiters, {});
  const auto held_back = std::exchange(m.held_back, {});
  for (const Waiter& w : waiters) w.reply(Answer::broken, {});
  for (const HeldBack& held : held_back) {
    // What the member itself was to do has nobody to be answered.
    if (held.client) held.client(Answer::broken, {});
  }
  m.streams.end(error_reply(kInterruptedByStateChange, "killed"));
}

void ReplicaSet::restart(int member) {
  Member& m = members_[at(member)];
  if (m.alive) return;
  m.alive = m.running = true;
  // It gives a primary a whole election timeout to be heard.
  m.heard_primary = wall_ns(member);
  ttl_sleep(member, settings_.ttl_period_ns);
}

std::optional<TtlIndex> ReplicaSet::ttl_index() const {
  const int p = primary();
  return p < 0 ? std::nullopt : members_[at(p)].ttl_index;
}

void ReplicaSet::set_ttl_index(const std::optional<TtlIndex>& index) {
  // At once on all: a real one replicates, in much less time than anything here depends on.
  for (Member& m : members_) m.ttl_index = index;
}

/// The change streams of a collection end with it.
bool ReplicaSet::drop_locks() {
  const int p = primary();
  if (p < 0) return false;
  Member& m = members_[at(p)];
  const auto locks = m.locks.documents();
  // As deletions one by one, which is what the harness reads as the truth. The primary's streams
  // end before a majority has them, by the error that mongod answers.
  for (const auto& [id, document] : locks) write(p, {id, nullptr}, nullptr);
  set_ttl_index(std::nullopt);
  m.streams.end(error_reply(kQueryPlanKilled, "the collection was dropped"));
  replicate(p);
  return true;
}

std::string ReplicaSet::delete_lock(std::int64_t pick) {
  const int p = primary();
  const auto& locks = members_[at(std::max(p, 0))].locks.documents();
  if (p < 0 || locks.empty()) return "";
  // By place in the order of names, so the plan's number means the same in each run.
  const auto found = std::next(locks.begin(), pick % static_cast<std::int64_t>(locks.size()));
  const auto name = found->first;
  write(p, {name, nullptr}, nullptr);
  replicate(p);
  return name;
}

void ReplicaSet::set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm) {
  Member& m = members_[at(member)];
  m.clock_offset_ms = offset_ms;
  m.clock_rate_ppm = rate_ppm;
  // The rate counts from here; what it added before is replaced by the new offset.
  m.clock_set_ns = queue_.now();
  // Measured, 12 of 12: a secondary whose clock jumps by more than the election timeout stands at
  // once. Nothing else that waits for this clock is notified (`at_wall`).
  if (works(member)) stand_if_overdue(member);
}

void ReplicaSet::set_ttl(int member, bool on) { members_[at(member)].ttl = on; }

void ReplicaSet::ttl_sleep(int member, std::int64_t span_ns) {
  at_wall(member, wall_ns(member) + span_ns, [this, member] { ttl_pass(member); });
}

void ReplicaSet::ttl_pass(int member) {
  Member& m = members_[at(member)];
  // By the manual a secondary deletes nothing of its own: it gets the primary's deletions. Its
  // monitor runs all the same, and keeps its phase.
  if (m.is_primary && m.ttl && m.ttl_index) {
    // By the primary's clock alone: one that is an hour ahead deletes what has an hour to go.
    const auto gone = expired(m.locks, *m.ttl_index, Date{clock_ms(member)});
    for (const auto& id : gone) write(member, {id, nullptr}, nullptr);
    ttl_deletions_ += static_cast<std::int64_t>(gone.size());
    if (!gone.empty()) replicate(member);
  }
  // From the end of a pass, by the wall clock: set back by two hours, it sleeps for two hours more.
  ttl_sleep(member, settings_.ttl_period_ns);
}

}  // namespace leasehold::sim::simulated
