#include "sim/virtual/servers/members.hpp"

#include <utility>

namespace leasehold::sim::simulated {

Members::Members(EventQueue& queue_, const ServerSettings& settings_)
    : queue(queue_), settings(settings_) {
  for (auto& row : links_) row.fill(true);
  for (int i = 0; i < kMembers; ++i) {
    all_[i].streams.number_as(i, kMembers);
    all_[i].streams.lag(queue, settings.stream_lag_ms);
  }
  all_[0].is_primary = true;
}

/// SIGSTOP keeps a process's timers as they are: they are overdue when it goes on.
void Members::when_running(int member, std::uint64_t life, std::function<void()> run) {
  Member& m = at(member);
  if (m.life != life) return;
  if (m.running) return run();
  // When it goes on, these run in the order in which they came due.
  m.held_back.push_back({std::move(run)});
}

void Members::at_wall(int member, std::int64_t wall, std::function<void()> run) {
  if (wall == kNever) return;
  const auto left = wall - wall_ns(member);
  if (left <= 0) return run();
  // Nothing is withdrawn or moved when the clock is set: the event comes when the time that was
  // left then is over, and looks again. So a step ahead makes a wait no shorter, a step back longer
  // (measured: wtimeout, maxTimeMS and the TTL monitor's sleep alike).
  const auto life = at(member).life;
  queue.after(left, [this, member, life, wall, run = std::move(run)] {
    when_running(member, life, [this, member, wall, run] { at_wall(member, wall, run); });
  });
}

/// Clients keep their connections, and are notified by the answers that they wait for.
void Members::leave_office(int member) {
  Member& m = at(member);
  m.is_primary = false;
  // They are in no log, so no successor has them.
  m.transactions = {};
  m.heard_primary = wall_ns(member);
  // ok: 1, and 11602: interrupted by the change of state. The successor may have the write, or not.
  const auto waiters = std::exchange(m.waiters, {});
  for (const Waiter& w : waiters) {
    w.reply(ServerAnswer::reply,
            write_concern_error(w.answer, kInterruptedByStateChange, "stepped down"));
  }
}

Serves Members::serves(int member) const {
  const bool knows = at(member).term >= residence.since_term;
  switch (residence.is) {
    case Residence::Is::here: return knows ? Serves::now : Serves::never;
    case Residence::Is::leaving: return knows ? Serves::later : Serves::now;
    default: return knows ? Serves::never : Serves::now;
  }
}

}  // namespace leasehold::sim::simulated
