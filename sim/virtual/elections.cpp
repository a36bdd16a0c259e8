#include <algorithm>

#include "sim/virtual/replica_set.hpp"
#include "sim/virtual/server_errors.hpp"

// Heartbeats, elections, and who is primary.
namespace leasehold::sim::simulated {

void ReplicaSet::beat() {
  // First all hear, then all decide: who decides does so on the same news as the others.
  for (int a = 0; a < kMembers; ++a) {
    for (int b = 0; b < kMembers; ++b) {
      if (a != b) heartbeat(a, b);
    }
  }
  for (int i = 0; i < kMembers; ++i) {
    Member& m = members_[at(i)];
    if (!works(i)) continue;
    const auto now = wall_ns(i);
    if (m.is_primary) {
      // As mongod: a primary that hears from no majority for an election timeout steps down. Until
      // then there may be two.
      if (now - m.heard_majority > settings_.election_timeout_ns) become_secondary(i);
      if (m.is_primary) replicate(i);
    } else if (now - m.heard_primary >
               // A random extra, so that the two others do not always stand together; mongod has it
               // too, a share of the timeout.
               settings_.election_timeout_ns + random_.between(0, 100) * kMs) {
      stand(i);
    }
  }
  queue_.after(settings_.heartbeat_ns, [this] { beat(); });
}

/// `from` hears that `to` is there, and what it is.
void ReplicaSet::heartbeat(int from, int to) {
  if (!works(from) || !works(to) || !reaches(from, to)) return;
  Member& m = members_[at(from)];
  const Member& other = members_[at(to)];
  // Cluster time travels with every message, so no member's next write is earlier than what it
  // could have heard of, whatever its clock shows.
  m.logical = std::max(m.logical, other.logical);
  if (other.term > m.term) {
    m.term = other.term;
    if (m.is_primary) become_secondary(from);
  }
  if (other.is_primary && other.term == m.term) m.heard_primary = wall_ns(from);
  // Any other that is heard makes two of three.
  if (m.is_primary) m.heard_majority = wall_ns(from);
}

/// Stands for election: those who can be asked and have no more than it has vote for it.
bool ReplicaSet::stand(int member) {
  Member& m = members_[at(member)];
  // It could win only the votes of other empty members, and as primary would have all data rolled
  // back.
  if (m.copies) return false;
  int votes = 1;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    // By the manual those that copy vote too. All votes are cast in this one event, so nobody votes
    // for two in one term.
    if (up_to_date(m.log, members_[at(v)].log) && members_[at(v)].term <= m.term) ++votes;
  }
  // Its election timer begins again, elected or not.
  m.heard_primary = wall_ns(member);
  if (votes <= kMembers / 2) return false;
  ++m.term;
  ++elections_;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    members_[at(v)].term = m.term;
    members_[at(v)].heard_primary = wall_ns(v);
    m.logical = std::max(m.logical, members_[at(v)].logical);
    if (members_[at(v)].is_primary) become_secondary(v);
  }
  m.is_primary = true;
  m.heard_majority = wall_ns(member);
  // A message of an earlier office may still arrive; it frees a place in `sending` too early, which
  // costs one message more and nothing else.
  m.match.fill(0);
  m.sending.fill(false);
  // The first entry of its term, by which what came before is a majority's too.
  write(member, note_in_oplog(), nullptr);
  replicate(member);
  return true;
}

/// The log stays as it is. If another goes on without its end, `receive` rolls that back.
void ReplicaSet::become_secondary(int member) {
  Member& m = members_[at(member)];
  m.is_primary = false;
  // They are in no log, so no successor has them.
  m.transactions = {};
  m.heard_primary = wall_ns(member);
  // ok: 1, and 11602: interrupted by the change of state. The successor may have the write, or not.
  auto waiters = std::move(m.waiters);
  m.waiters.clear();
  for (const Waiter& w : waiters) {
    w.reply(Answer::reply,
            write_concern_error(w.answer, kInterruptedByStateChange, "stepped down"));
  }
}

void ReplicaSet::step_up(int member) {
  const int old = primary();
  if (old == member || !works(member) || members_[at(member)].copies) return;
  // It first fetches what the old primary still has, if that answers in time.
  if (old >= 0 && reaches(member, old) && random_.chance(50)) catch_up(member, members_[at(old)]);
  // Without that it is behind and nobody votes for it. A real harness asks again until it works;
  // here the second time does.
  if (!stand(member) && old >= 0 && reaches(member, old)) {
    catch_up(member, members_[at(old)]);
    stand(member);
  }
}

void ReplicaSet::step_down_primary() {
  const int old = primary();
  if (old >= 0) become_secondary(old);
}

/// An election timer that is due when a member looks at the clock again is acted upon at once,
/// before the primary is heard again: always after a jump of the clock, seldom after a stop.
void ReplicaSet::stand_if_overdue(int member) {
  const Member& m = members_[at(member)];
  if (m.is_primary || wall_ns(member) - m.heard_primary <= settings_.election_timeout_ns) return;
  // How soon the timer's thread looks: measured as "at once", so somewhere in 20 ms.
  constexpr std::int64_t kNoticed = 20 * kMs;
  queue_.after(random_.between(1, kNoticed / kGrain) * kGrain, [this, member, life = m.life] {
    when_running(member, life, [this, member] {
      // It may have been elected meanwhile, by another's doing.
      if (!members_[at(member)].is_primary) stand(member);
    });
  });
}

int ReplicaSet::latest_primary(const std::function<bool(int)>& counts) const {
  int best = -1;
  for (int i = 0; i < kMembers; ++i) {
    const Member& m = members_[at(i)];
    if (!m.alive || !m.is_primary || !counts(i)) continue;
    if (best < 0 || m.term > members_[at(best)].term) best = i;
  }
  return best;
}

int ReplicaSet::primary() const {
  return latest_primary([this](int i) { return works(i); });
}

int ReplicaSet::primary_for(const std::array<bool, kMembers>& reachable) const {
  return latest_primary([&reachable](int i) { return reachable[at(i)]; });
}

}  // namespace leasehold::sim::simulated
