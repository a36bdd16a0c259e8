#include "sim/virtual/servers/replica_set.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::sim::simulated {

namespace {

constexpr int kStandsAfterAStop = 20;  ///< percent: 2 of 8 were seen to

}  // namespace

/// Each monitor has a phase of its own, because a new primary does not go on with the sleep of the
/// primary before.
ReplicaSet::ReplicaSet(EventQueue& queue_, Random& random, const ServerSettings& settings_,
                       Listener listener)
    : ClientCommands(queue_, random, settings_, std::move(listener)) {
  // A draw for each member, in their order.
  for (int m = 0; m < kMembers; ++m) {
    sleep_before_ttl_pass(m, random.between(1, settings.ttl_period_ns / kGrain) * kGrain);
  }
  start_beats();
}

/// From the end of a pass, by the wall clock: set back by two hours, it sleeps for two hours more.
void ReplicaSet::sleep_before_ttl_pass(int member, std::int64_t span_ns) {
  at_wall(member, wall_ns(member) + span_ns, [this, member] { ttl_pass(member); });
}

void ReplicaSet::ttl_pass(int member) {
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

void ReplicaSet::step_down_primary() {
  const int old = primary();
  if (old >= 0) leave_office(old);
}

void ReplicaSet::go_on(int member) {
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

void ReplicaSet::kill(int member) {
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

void ReplicaSet::restart(int member) {
  Member& m = at(member);
  if (m.alive) return;
  m.alive = m.running = true;
  // It gives a primary a whole election timeout to be heard.
  m.heard_primary = wall_ns(member);
  sleep_before_ttl_pass(member, settings.ttl_period_ns);
}

/// By the manual on resyncing a member: one that starts with an empty folder copies all data anew.
void ReplicaSet::wipe(int member) {
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

bool ReplicaSet::copies() const {
  return std::any_of(all_.begin(), all_.end(), [](const Member& m) { return m.copies; });
}

void ReplicaSet::set_link(int a, int b, bool up) {
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

void ReplicaSet::may_fail_to_fetch(int member, int source) {
  const auto percent = settings.failed_fetch_percent;
  const bool fetches = works(member) && at(source).is_primary;
  // Nothing is drawn where it never happens.
  if (fetches && percent > 0 && random_.chance(percent)) fail_fetch(member, source);
}

void ReplicaSet::set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm) {
  at(member).clock.set(queue.now(), offset_ms, rate_ppm);
  // Measured, 12 of 12: a secondary stands at once if its clock jumps by more than the election
  // timeout. Nothing else that waits for this clock is notified (`Members::at_wall`).
  if (works(member)) stand_if_overdue(member);
}

std::optional<TtlIndex> ReplicaSet::ttl_index() const {
  const int p = primary();
  return p < 0 ? std::nullopt : at(p).ttl_index;
}

void ReplicaSet::set_ttl_index(const std::optional<TtlIndex>& index) {
  // At once on all: a real one replicates, in much less time than anything here depends on.
  for (Member& m : all_) m.ttl_index = index;
}

/// The change streams of a collection end with it.
bool ReplicaSet::drop_locks() {
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

std::string ReplicaSet::delete_lock(std::int64_t pick) {
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

std::vector<std::string> ReplicaSet::held_locks() const {
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

std::int64_t ReplicaSet::term() const {
  const int p = primary();
  return p < 0 ? 0 : at(p).term;
}

void ReplicaSet::note() {
  write(primary(), note_in_oplog());
  send_news(primary());
}

/// An old primary hears from no majority.
bool ReplicaSet::is_confirmed() const {
  const MemberData& data = at(primary()).data;
  return data.committed() == data.log().size();
}

/// Cluster time goes along with a move, as with every message between servers.
void ReplicaSet::receive(const ReplicaSet& giver) {
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

std::optional<Timestamp> ReplicaSet::write_elsewhere(std::int64_t count) {
  const int p = primary();
  if (p < 0) return std::nullopt;
  for (; count > 0; --count) at(p).elsewhere = next_time(p);
  return at(p).elsewhere;
}

}  // namespace leasehold::sim::simulated
