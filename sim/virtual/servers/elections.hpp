#pragma once

#include "sim/plan/random.hpp"
#include "sim/virtual/servers/replication.hpp"

namespace leasehold::sim::simulated {

/// Heartbeats and elections: decides which member is primary. Of the logs it knows only which is up
/// to date.
///
/// Elections are by the manual on replica set elections: a member that hears from no primary for
/// the election timeout stands; the others vote for it if it has no less than they; a primary that
/// hears from no majority for as long steps down. Priorities and catch-up periods are left out, as
/// all members have the same.
///
/// An election is one event, so no member votes for two in one term. Two may take themselves for
/// primary at once nevertheless, because a member that is cut off does so for an election timeout.
class Elections : public Replication {
 public:
  Elections(EventQueue& queue_, Random& random, const ServerSettings& settings_, Listener listener)
      : Replication(queue_, settings_, std::move(listener)), random_(random) {}

  /// Members beat from now on, all in one event of the queue.
  void start_beats() {
    queue.after(settings.heartbeat_ns, [this] { beat(); });
  }

  /// As replSetStepUp: it stands for election now.
  void step_up(int member) {
    const int old = primary();
    if (old == member || !works(member) || at(member).copies) return;
    // It first fetches what the old primary still has, if that answers in time.
    const bool answers = old >= 0 && reaches(member, old);
    if (answers && random_.chance(50)) catch_up(member, old);
    // Without that it is behind and no member votes for it. A real harness asks again until it
    // works; here the second time does.
    if (!stand(member) && answers) {
      catch_up(member, old);
      stand(member);
    }
  }

  /// Acts at once on an election timer that is due when a member looks at the clock again, before
  /// the primary is heard again: always after a jump of the clock, seldom after a stop.
  void stand_if_overdue(int member) {
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

  /// It hears from all others that it reaches, out of turn.
  void hear_all(int member) {
    for (int other = 0; other < kMembers; ++other) {
      if (other != member) hear(member, other);
    }
  }

  /// The running one of the highest term, or -1.
  [[nodiscard]] int primary() const {
    PerMember<bool> running{};
    for (int i = 0; i < kMembers; ++i) running[i] = works(i);
    return primary_for(running);
  }
  /// The member that a client takes for the primary: the one of the highest term among those that
  /// it reaches and that say so; -1: none.
  /// By term, as a driver decides between two that both say so. One that is stopped said so before,
  /// and is sent to: what it is sent waits in its sockets, and is executed when it goes on.
  [[nodiscard]] int primary_for(const PerMember<bool>& reachable) const {
    int best = -1;
    for (int i = 0; i < kMembers; ++i) {
      const Member& m = at(i);
      if (!m.alive || !m.is_primary || !reachable[i]) continue;
      if (best < 0 || m.term > at(best).term) best = i;
    }
    return best;
  }

  std::int64_t elections = 0;  ///< so far

 protected:
  Random& random_;

 private:
  void beat() {
    // First all hear, then all decide, so that all decide by the same knowledge.
    for (int member = 0; member < kMembers; ++member) hear_all(member);
    for (int member = 0; member < kMembers; ++member) {
      if (works(member)) watch_the_clock(member);
    }
    start_beats();
  }

  /// `from` hears that `to` is there, and what it is.
  void hear(int from, int to) {
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
  void watch_the_clock(int member) {
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
    // A random extra, so that the two others do not always stand together; mongod has it too, a
    // share of the timeout.
    if (now - m.heard_primary > timeout + random_.between(0, 100) * kMs) stand(member);
  }

  /// Stands for election: members that can be asked and have no more than it has vote for it.
  /// False: it was not elected.
  bool stand(int member) {
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

  [[nodiscard]] int votes_for(int member) const {
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

  void take_office(int member) {
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
    // A message of an earlier office may still arrive; it frees a place in `sending` too early,
    // which costs one message more and nothing else.
    m.match.fill(0);
    m.sending.fill(false);
    // The first entry of its term, by which what came before is a majority's too.
    write(member, note_in_oplog());
    send_news(member);
  }
};

}  // namespace leasehold::sim::simulated
