#include "sim/virtual/servers/elections.hpp"

#include <algorithm>

namespace leasehold::sim::simulated {

void Elections::start_beats() {
  queue.after(settings.heartbeat_ns, [this] { beat(); });
}

void Elections::beat() {
  // First all hear, then all decide, so that all decide by the same knowledge.
  for (int member = 0; member < kMembers; ++member) hear_all(member);
  for (int member = 0; member < kMembers; ++member) {
    if (works(member)) watch_the_clock(member);
  }
  start_beats();
}

void Elections::hear_all(int member) {
  for (int other = 0; other < kMembers; ++other) {
    if (other != member) hear(member, other);
  }
}

/// `from` hears that `to` is there, and what it is.
void Elections::hear(int from, int to) {
  if (!works(from) || !works(to) || !reaches(from, to)) return;
  Member& m = at(from);
  const Member& other = at(to);
  // Cluster time travels with every message, so no member's next write is earlier than what it
  // could know of, whatever its clock shows.
  m.logical = std::max(m.logical, other.logical);
  if (other.term > m.term) {
    m.term = other.term;
    if (m.is_primary) leave_office(from);
  }
  if (other.is_primary && other.term == m.term) m.heard_primary = wall_ns(from);
  // Any other that is heard makes two of three.
  if (m.is_primary) m.heard_majority = wall_ns(from);
}

/// What a member decides by its own clock, once all have been heard.
void Elections::watch_the_clock(int member) {
  const Member& m = at(member);
  const auto timeout = settings.election_timeout_ns;
  const auto now = wall_ns(member);
  if (m.is_primary) {
    // As mongod: a primary that hears from no majority for an election timeout steps down. Until
    // then there may be two.
    if (now - m.heard_majority > timeout) leave_office(member);
    if (m.is_primary) send_news(member);
    return;
  }
  // A random extra, so that the two others do not always stand together; mongod has it too, a share
  // of the timeout.
  if (now - m.heard_primary > timeout + random_.between(0, 100) * kMs) stand(member);
}

/// Stands for election: members that can be asked and have no more than it has vote for it.
bool Elections::stand(int member) {
  Member& m = at(member);
  // It could win only the votes of other empty members, and as primary would have all data rolled
  // back.
  if (m.copies) return false;
  const int votes = votes_for(member);
  // Its election timer begins again, elected or not.
  m.heard_primary = wall_ns(member);
  if (votes <= kMembers / 2) return false;
  take_office(member);
  return true;
}

int Elections::votes_for(int member) const {
  const Member& m = at(member);
  int votes = 1;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    // By the manual those that copy vote too. All votes are cast in this one event, so no member
    // votes for two in one term.
    if (m.data.up_to_date_with(at(v).data) && at(v).term <= m.term) ++votes;
  }
  return votes;
}

void Elections::take_office(int member) {
  Member& m = at(member);
  ++m.term;
  ++elections;
  // A member that could be asked hears of it in the same event; others when they are heard again.
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    Member& voter = at(v);
    voter.term = m.term;
    voter.heard_primary = wall_ns(v);
    m.logical = std::max(m.logical, voter.logical);
    if (voter.is_primary) leave_office(v);
  }
  m.is_primary = true;
  m.heard_majority = wall_ns(member);
  // A message of an earlier office may still arrive; it frees a place in `sending` too early, which
  // costs one message more and nothing else.
  m.match.fill(0);
  m.sending.fill(false);
  // The first entry of its term, by which what came before is a majority's too.
  write(member, note_in_oplog());
  send_news(member);
}

void Elections::step_up(int member) {
  const int old = primary();
  if (old == member || !works(member) || at(member).copies) return;
  // It first fetches what the old primary still has, if that answers in time.
  const bool answers = old >= 0 && reaches(member, old);
  if (answers && random_.chance(50)) catch_up(member, old);
  // Without that it is behind and no member votes for it. A real harness asks again until it works;
  // here the second time does.
  if (!stand(member) && answers) {
    catch_up(member, old);
    stand(member);
  }
}

void Elections::stand_if_overdue(int member) {
  const Member& m = at(member);
  const auto silent_ns = wall_ns(member) - m.heard_primary;
  if (m.is_primary || silent_ns <= settings.election_timeout_ns) return;
  // How soon the timer's thread looks: measured as "at once", so somewhere in 20 ms.
  constexpr std::int64_t kNoticed = 20 * kMs;
  const auto notices = random_.between(1, kNoticed / kGrain) * kGrain;
  queue.after(notices, [this, member, life = m.life] {
    when_running(member, life, [this, member] {
      // It may have been elected meanwhile, by another's doing.
      if (!at(member).is_primary) stand(member);
    });
  });
}

int Elections::primary() const {
  PerMember<bool> running{};
  for (int i = 0; i < kMembers; ++i) running[i] = works(i);
  return primary_for(running);
}

/// By term, as a driver decides between two that both say so. One that is stopped said so before,
/// and is sent to: what it is sent waits in its sockets, and is executed when it goes on.
int Elections::primary_for(const PerMember<bool>& reachable) const {
  int best = -1;
  for (int i = 0; i < kMembers; ++i) {
    const Member& m = at(i);
    if (!m.alive || !m.is_primary || !reachable[i]) continue;
    if (best < 0 || m.term > at(best).term) best = i;
  }
  return best;
}

}  // namespace leasehold::sim::simulated
