#include "sim/virtual/faults.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::sim::simulated {
namespace {

using model::Event;
using model::Kind;
using K = FaultPlan::Kind;

// Shorter than a lease, as a supervisor's restart: the successor meets its predecessor's lock.
constexpr std::int64_t kComesBack_ms = 50;  ///< a crashed process starts anew

/// Whether this process, or the crashed one that it stands for, is the plan's.
/// Each successor has one more ' in its name.
bool stands_for(const Process& p, std::int64_t place) {
  const auto name = "p" + std::to_string(place);
  return p.name().starts_with(name) &&
         p.name().find_first_not_of('\'', name.size()) == std::string::npos;
}

}  // namespace

/// Whom a fault befalls: the one that the plan names; else mostly one that holds a lock if there is
/// any, else any that runs; every fourth time one that waits for a reply.
Process* Faults::victim(const FaultPlan& fault) {
  // In the order in which they were started, so `pick` means the same each time. A fault at a
  // random process would mostly hit one that has nothing to lose.
  std::vector<Process*> holders, asking, all;
  for (const auto& p : world_.processes) {
    // The doomed one has to hold its lock until it is killed: its takeover must not depend on luck.
    if (p->crashed() || p->paused() || p->is_doomed()) continue;
    if (fault.process >= 0 && !stands_for(*p, fault.process)) continue;
    all.push_back(p.get());
    if (p->holds()) holders.push_back(p.get());
    if (p->awaits_a_reply() && !p->holds()) asking.push_back(p.get());
  }
  const auto& preferred = fault.pick % 4 == 3 ? asking : holders;
  const auto& from = preferred.empty() ? all : preferred;
  return from.empty() ? nullptr : from[static_cast<std::size_t>(fault.pick) % from.size()];
}

int Faults::member_of(const FaultPlan& fault) const {
  return member_hit(fault, world_.servers.primary(), ReplicaSet::kMembers);
}

void Faults::note(const FaultPlan& fault, const std::string& hit, const char* outcome,
                  std::int64_t amount) {
  world_.emit(fault_event(world_.queue.now(), fault.kind, hit, outcome, amount));
}

/// Runs `undo` after this time, or when all is healed.
void Faults::undo_later(std::int64_t after_ms, std::function<void()> undo) {
  const auto number = healers_.size();
  healers_.push_back(std::move(undo));
  world_.queue.after(after_ms * kMs, [this, number] { undo_now(number); });
}

void Faults::undo_now(std::size_t number) {
  // Both the fault's own event and `heal` come here; the first of them does it.
  const auto undo = std::exchange(healers_[number], nullptr);
  if (undo) undo();
}

void Faults::for_a_while(const FaultPlan& fault, const std::string& hit,
                         const std::function<void()>& begin, std::function<void()> end) {
  note(fault, hit, "begins", fault.amount);
  begin();
  undo_later(fault.for_ms, [this, fault, hit, end = std::move(end)] {
    end();
    note(fault, hit, "ends", 0);
  });
}

void Faults::inject(const FaultPlan& fault) {
  // The healed phase is measured without faults, also without those that the plan has later.
  if (healed_) return;
  if (takes_members(fault.kind)) return take_members(fault);
  switch (fault.kind) {
    case K::crash: return crash_one(fault);
    case K::pause:
    case K::suspend: return pause(fault);
    case K::wall_clock: return move_wall_clock(fault);
    case K::step_up:
    case K::step_down: return elect(fault);
    case K::drop_index:
    case K::change_index: return disturb_index(fault);
    case K::drop_collection:
    case K::delete_document: return administer(fault);
    case K::split_members:
    case K::two_primaries: return split(fault);
    case K::clock_jump:
    case K::clock_drift: return move_clock(fault);
    case K::ttl_off:
    case K::slow_majority:
    case K::errors: return disturb_set(fault);
    default: return disturb_link(fault);
  }
}

void Faults::crash(Process& p) {
  p.crash();
  Event e;
  e.at_ns = world_.queue.now();
  e.kind = Kind::crash;
  e.process = p.name();
  world_.emit(e);
  count_effect(K::crash);
}

void Faults::crash_one(const FaultPlan& fault) {
  Process* p = victim(fault);
  if (p == nullptr) return;
  crash(*p);
  // A story's processes do what its steps say; a successor would need steps of its own.
  if (p->plan().scripted) return;
  world_.queue.after(kComesBack_ms * kMs, [this, name = p->name() + "'", plan = p->plan()] {
    // One that starts in the healed phase would count as a process that has to finish it.
    if (!healed_) world_.start_anew(name, plan);
  });
}

void Faults::kill_doomed() {
  for (const auto& p : world_.processes) {
    // Only while it holds: what has to be shown is a takeover from the dead.
    if (p->is_doomed() && p->holds()) return crash(*p);
  }
}

void Faults::pause(const FaultPlan& fault) {
  Process* p = victim(fault);
  if (p == nullptr) return;
  // The history says which, for after a suspension the process's own clock is behind and the
  // bounds of its deadline move with it.
  const bool suspends = fault.kind == K::suspend;
  const auto tell = [this, p, suspends](Kind kind) {
    Event e;
    e.at_ns = world_.queue.now();
    e.kind = kind;
    e.process = p->name();
    if (suspends) e.detail = to_string(K::suspend);
    world_.emit(e);
  };
  suspends ? p->suspend() : p->pause();
  tell(Kind::pause);
  count_effect(fault.kind);
  undo_later(fault.for_ms, [p, tell] {
    // A paused process can be killed; then there is nothing to go on.
    if (p->crashed()) return;
    tell(Kind::resume);
    p->resume();
  });
}

void Faults::move_wall_clock(const FaultPlan& fault) {
  Process* p = victim(fault);
  if (p == nullptr) return;
  for_a_while(
      fault, p->name(),
      // Of the wall clock alone, which no deadline of the production lock depends on.
      [this, p, &fault] { p->set_wall_offset(fault.amount), count_effect(fault.kind); },
      [p] { p->set_wall_offset(0); });
}

void Faults::elect(const FaultPlan& fault) {
  const int primary = world_.servers.primary();
  if (fault.kind == K::step_down) {
    note(fault, primary < 0 ? "" : member_name(primary), "", 0);
    if (primary >= 0) count_effect(fault.kind);
    return world_.servers.step_down_primary();
  }
  const int next =
      fault.member >= 0
          ? member_of(fault)
          : (std::max(primary, 0) + 1 + static_cast<int>(fault.pick % 2)) % ReplicaSet::kMembers;
  note(fault, member_name(next), "", 0);
  world_.servers.step_up(next);
  // An election may fail; then nothing happened.
  if (world_.servers.primary() != primary) count_effect(fault.kind);
}

/// One fault at a time, so that as many stay as it says.
void Faults::take_members(const FaultPlan& fault) {
  const bool kills = fault.kind != K::stop_member, loses = fault.kind == K::lost_data;
  // A second loss while a member still copies could take the only data that there are.
  if (members_away_ > 0 || (loses && world_.servers.copies())) return;
  // Counted before it is done: a kill or a stop cannot fail.
  count_effect(fault.kind);
  for (const int member : members_hit(fault, world_.servers.primary(), ReplicaSet::kMembers)) {
    for_a_while(
        fault, member_name(member),
        [this, member, kills, loses] {
          kills ? world_.servers.kill(member) : world_.servers.stop(member);
          if (loses) world_.servers.wipe(member);
          ++members_away_;
        },
        [this, member, kills] {
          kills ? world_.servers.restart(member) : world_.servers.go_on(member);
          --members_away_;
        });
  }
}

/// One at a time, so that it ends as it was.
void Faults::disturb_index(const FaultPlan& fault) {
  // Nothing to disturb before the first provider has made it.
  const auto before = world_.servers.ttl_index();
  if (index_disturbed_ || !before) return;
  auto index = before;
  if (fault.kind == K::drop_index) {
    index.reset();
  } else {
    // In seconds, as the server's option.
    index->after_s += fault.amount;
  }
  for_a_while(
      fault, "",
      [this, &fault, index] {
        index_disturbed_ = true;
        world_.servers.set_ttl_index(index);
        count_effect(fault.kind);
      },
      [this, before] {
        index_disturbed_ = false;
        world_.servers.set_ttl_index(before);
      });
}

void Faults::administer(const FaultPlan& fault) {
  const bool drops = fault.kind == K::drop_collection;
  const auto deleted = drops ? "" : world_.servers.delete_lock(fault.pick);
  // Without a primary, or a document, there is nothing to delete.
  if (drops ? world_.servers.drop_locks() : !deleted.empty()) count_effect(fault.kind);
  note(fault, deleted, "", 0);
}

void Faults::split(const FaultPlan& fault) {
  // By cutting it off the old primary stays one for an election timeout; who is elected at once is
  // another beside it. Without the election the old one may step down before there is a new one.
  const bool elects = fault.kind == K::two_primaries;
  const int member = elects ? world_.servers.primary() : member_of(fault);
  if (member < 0) return;
  const auto set_links = [this, member](bool up) {
    for (int other = 0; other < ReplicaSet::kMembers; ++other) {
      if (other != member) world_.servers.set_link(member, other, up);
    }
  };
  for_a_while(
      fault, member_name(member),
      [this, &fault, member, elects, set_links] {
        set_links(false);
        if (elects) {
          // One of the other two: they reach each other and are a majority.
          world_.servers.step_up((member + 1 + static_cast<int>(fault.pick % 2)) %
                                 ReplicaSet::kMembers);
        }
        if (!elects || world_.servers.primary() != member) count_effect(fault.kind);
      },
      [set_links] { set_links(true); });
}

void Faults::move_clock(const FaultPlan& fault) {
  const int member = member_of(fault);
  // ms of a jump, ppm of a drift; within half the margin unless the plan names the member, so that
  // two members' clocks never differ by more than the lock is promised.
  const auto amount = clock_amount(fault, world_.plan.clock_margin_ms);
  auto& offset = clock_offsets_[static_cast<std::size_t>(member)];
  if (fault.kind == K::clock_jump) {
    if (amount != offset) count_effect(fault.kind);
    note(fault, member_name(member), "", amount);
    // A jump stays until the next one, or to the end: it is harmless within the margin, and to go
    // back would be a fault of its own. A drift ends with the clock at true time.
    offset = amount;
    return world_.servers.set_clock(member, amount, 0);
  }
  offset = 0;
  for_a_while(
      fault, member_name(member),
      [this, member, amount, &fault] {
        world_.servers.set_clock(member, 0, amount);
        count_effect(fault.kind);
      },
      [this, member] { world_.servers.set_clock(member, 0, 0); });
}

void Faults::disturb_set(const FaultPlan& fault) {
  const auto for_all = [](const auto& act) {
    for (int m = 0; m < ReplicaSet::kMembers; ++m) act(m);
  };
  auto& servers = world_.servers;
  if (fault.kind == K::errors) {
    note(fault, "", "", fault.amount);
    // The amount is a number of commands. An odd pick lets them execute first, which is the harder
    // case: an error, and yet a write.
    return servers.fail_next(static_cast<int>(fault.amount), error_code(fault),
                             fault.pick % 2 != 0);
  }
  const bool ttl = fault.kind == K::ttl_off;
  const auto set = [&servers, for_all, ttl, slower = fault.amount * kMs](bool on) {
    for_all([&](int m) {
      if (ttl) return servers.set_ttl(m, !on);
      servers.set_replication_delay(m, on ? slower : 0);
    });
  };
  for_a_while(
      fault, "", [this, &fault, set] { set(true), count_effect(fault.kind); },
      [set] { set(false); });
}

void Faults::disturb_link(const FaultPlan& fault) {
  Process* p = victim(fault);
  if (p == nullptr) return;
  // The one of now. After an election the process's way to the new one is free again.
  const auto primary = static_cast<std::size_t>(std::max(world_.servers.primary(), 0));
  for_a_while(
      fault, p->name(),
      [p, primary, &fault] {
        LinkFaults& link = p->link();
        switch (fault.kind) {
          case K::cut_link: link.cut[primary] = true; break;
          case K::refuse_link: link.refused[primary] = true; break;
          case K::slow_link: link.slower_ms = fault.amount; break;
          case K::lost_replies: link.replies_lost = true; break;
          case K::late_requests: link.late_ms = fault.amount; break;
          // Waiting inside is the server's doing, but each process's commands wait on their own.
          default: link.inside_ms = fault.amount; break;
        }
      },
      // All of the link: of two such faults that overlap, the first to end ends both.
      [p] { p->link() = {}; });
}

void Faults::heal() {
  healed_ = true;
  for (std::size_t i = 0; i < healers_.size(); ++i) undo_now(i);
  world_.servers.fail_next(0, 0, false);
}

}  // namespace leasehold::sim::simulated
