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
  void start_beats();

  /// As replSetStepUp: it stands for election now.
  void step_up(int member);
  /// Acts at once on an election timer that is due when a member looks at the clock again, before
  /// the primary is heard again: always after a jump of the clock, seldom after a stop.
  void stand_if_overdue(int member);
  /// It hears from all others that it reaches, out of turn.
  void hear_all(int member);

  [[nodiscard]] int primary() const;  ///< the running one of the highest term, or -1
  /// The member that a client takes for the primary: the one of the highest term among those that
  /// it reaches and that say so; -1: none.
  [[nodiscard]] int primary_for(const PerMember<bool>& reachable) const;
  std::int64_t elections = 0;  ///< so far

 protected:
  Random& random_;

 private:
  void beat();
  void hear(int from, int to);
  void watch_the_clock(int member);
  /// False: it was not elected.
  bool stand(int member);
  [[nodiscard]] int votes_for(int member) const;
  void take_office(int member);
};

}  // namespace leasehold::sim::simulated
