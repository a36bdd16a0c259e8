#include "sim/virtual/servers/ttl_monitors.hpp"

namespace leasehold::sim::simulated {

void TtlMonitors::start(Random& random) {
  // A draw for each member, in their order.
  for (int m = 0; m < kMembers; ++m) {
    sleep(m, random.between(1, members_.settings.ttl_period_ns / kGrain) * kGrain);
  }
}

/// From the end of a pass, by the wall clock: set back by two hours, it sleeps for two hours more.
void TtlMonitors::sleep(int member, std::int64_t span_ns) {
  members_.at_wall(member, members_.wall_ns(member) + span_ns, [this, member] { pass(member); });
}

void TtlMonitors::pass(int member) {
  const Member& m = members_[member];
  // A secondary deletes nothing of its own: it gets the primary's deletions. Its monitor runs all
  // the same, and keeps its phase.
  const bool here = members_.residence.is == Residence::Is::here;
  if (m.is_primary && !off_[member] && m.ttl_index && here) {
    // By the primary's clock alone: one that is an hour ahead deletes what has an hour to go.
    const auto gone = expired(m.data.locks(), *m.ttl_index, Date{members_.clock_ms(member)});
    if (members_.settings.ttl_deletes_at_once) {
      replication_.delete_at_once(member, gone);
    } else {
      for (const auto& id : gone) replication_.write(member, {id, nullptr});
    }
    deletions_ += static_cast<std::int64_t>(gone.size());
    if (!gone.empty()) replication_.send_news(member);
  }
  sleep(member, members_.settings.ttl_period_ns);
}

}  // namespace leasehold::sim::simulated
