#pragma once

#include "sim/plan/random.hpp"
#include "sim/virtual/servers/replication.hpp"

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

}  // namespace leasehold::sim::simulated
