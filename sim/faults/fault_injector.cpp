#include "sim/faults/fault_injector.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sim/plan/workload.hpp"

namespace leasehold::sim {

Links DisturbedLinks::of_member(int member) const {
  Links links;
  for (int other = 0; other < size(); ++other) {
    if (other == member) continue;
    for (const char* what : {"/beat", "/sync"}) {
      links.push_back({member_name(member) + what, other});
      links.push_back({member_name(other) + what, member});
    }
  }
  return links;
}

Links DisturbedLinks::of_fetching(int member) const {
  Links links;
  for (int other = 0; other < size(); ++other) {
    if (other != member) links.push_back({member_name(member) + "/sync", other});
  }
  return links;
}

Links DisturbedLinks::of_replication() const {
  Links links;
  for (int member = 0; member < size(); ++member) {
    for (auto& link : of_fetching(member)) links.push_back(std::move(link));
  }
  return links;
}

Links DisturbedLinks::of_process(const std::string& process) const {
  Links links;
  for (int to = 0; to < size(); ++to) links.push_back({process, to});
  return links;
}

std::int64_t DisturbedLinks::touched(const Links& links) const {
  std::int64_t sum = 0;
  for (const Link& link : links) sum += cluster_.servers->links.touched(link);
  return sum;
}

void DisturbedLinks::disturb(LinkRules::Owner by, const Links& links, const LinkRule& rule) {
  rules_.add(by, links, rule);
  for (const Link& link : links) cluster_.servers->links.set_link_rule(link, rules_.of(link));
}

void DisturbedLinks::leave(LinkRules::Owner by, bool resets) {
  for (const Link& link : rules_.remove(by)) {
    // Waiting bytes are dropped first, or the rule's end would let them through.
    if (resets) cluster_.servers->links.reset_link(link);
    cluster_.servers->links.set_link_rule(link, rules_.of(link));
  }
}

namespace {

using std::chrono::milliseconds;
using K = FaultPlan::Kind;

constexpr std::int64_t kMs = 1'000'000;
// Shorter than a lease, as a supervisor's restart: the successor meets its predecessor's lock.
constexpr std::int64_t kComesBack = 50 * kMs;
constexpr milliseconds kElectionLimit{2'000};
/// Before the old primary notices that it reaches no member.
constexpr milliseconds kSecondPrimaryLimit{500};
constexpr std::int64_t kErrorsLast_ms = 2'000;
constexpr milliseconds kAdministratorWaits{2'000};  ///< for an answer
constexpr std::uint64_t kAdministrator = 0xAD;       ///< the first half of its owners

bool is_of_index(K kind) { return kind == K::drop_index || kind == K::change_index; }

}  // namespace

/// The process that a fault hits: the one that the plan names; else mostly one that holds a lock if
/// there is any, else any that runs; every fourth time one that waits for a reply.
std::optional<ProcessView> FaultInjector::victim(const FaultPlan& fault) {
  // In the order in which they were started, so `pick` means the same each time. A fault at a
  // random process would mostly hit one that has nothing to lose.
  std::vector<ProcessView> holders, asking, all;
  for (auto& p : cluster_.processes.running()) {
    if (fault.process >= 0 && p.place != fault.process) continue;
    if (p.holds) holders.push_back(p);
    if (p.awaits_reply && !p.holds) asking.push_back(p);
    all.push_back(std::move(p));
  }
  const auto& preferred = fault.pick % 4 == 3 ? asking : holders;
  const auto& from = preferred.empty() ? all : preferred;
  if (from.empty()) return std::nullopt;
  return from[static_cast<std::size_t>(fault.pick) % from.size()];
}

int FaultInjector::member_of(const FaultPlan& fault) {
  auto& members = *cluster_.servers->members;
  return member_hit(fault, members.primary_now(), members.size());
}

/// Which member may follow this primary: the one that the plan names, or any that orders reach; -1:
/// none.
int FaultInjector::successor(const FaultPlan& fault, int primary) {
  auto& servers = *cluster_.servers->members;
  if (fault.member >= 0 && fault.kind != K::two_primaries) return member_of(fault);
  const int size = servers.size();
  const auto first =
      std::max(primary, 0) + 1 + static_cast<int>(fault.pick % std::max(size - 1, 1));
  for (int i = 0; i < size; ++i) {
    const int next = (first + i) % size;
    if (next != primary && servers.reachable(next)) return next;
  }
  return -1;
}

/// Faults of the index end last, because building it asks all members, and one may leave its
/// connections alone for half a minute after its clock moved back.
void FaultInjector::heal() {
  healed_ = true;
  waiting_.clear();
  lasting_.end_all([](K kind) { return !is_of_index(kind); });
  if (!cluster_.servers || cluster_.servers->members == nullptr) return;
  cluster_.servers->members->settle();
  lasting_.end_all(is_of_index);
  // An earlier primary's changes may have been rolled back since, the end of an earlier fault
  // included.
  if (!ttl_seconds_) return;
  cluster_.insist("restoring the index",
                  [this] { return cluster_.servers->data->set_ttl_seconds(ttl_seconds_), true; });
}

void FaultInjector::inject(const FaultPlan& fault) {
  // The healed phase is measured without faults, also without those that the plan has later.
  if (healed_) return;
  if (fault.on != FaultPlan::Command::none) return waiting_.push_back(fault);
  switch (fault.kind) {
    case K::crash: return crash(fault);
    case K::pause:
    case K::suspend: return pause(fault);
    case K::wall_clock: return move_wall_clock(fault);
    default:
      if (cluster_.servers) inject_into_servers(fault);
  }
}

void FaultInjector::saw_command(std::int64_t place, const std::string& verb, bool is_reply) {
  const auto begins = [&](FaultPlan& fault) {
    const bool of_it = fault.process < 0 || fault.process == place;
    if (!of_it || fault.at_reply != is_reply || verb != to_string(fault.on)) return false;
    if (--fault.nth > 0) return false;
    auto now = fault;
    now.on = FaultPlan::Command::none;
    now.process = place;
    ++begun_at_commands_;
    // Within the event of a sending nothing may change what sends.
    cluster_.call_at(cluster_.now_ns(), [this, now] { inject(now); });
    return true;
  };
  std::erase_if(waiting_, begins);
}

void FaultInjector::inject_into_servers(const FaultPlan& fault) {
  if (power_of(fault.kind) == Power::links) return disturb_link(fault);
  if (cluster_.servers->members == nullptr) return;
  if (is_of_documents(group_of(fault.kind)) && cluster_.servers->data == nullptr) return;
  if (takes_members(fault.kind)) return take_members(fault);
  switch (fault.kind) {
    case K::step_up:
    case K::step_down: return elect(fault);
    case K::drop_index:
    case K::change_index: return disturb_index(fault);
    case K::drop_collection:
    case K::delete_document: return administer(fault);
    case K::force_release: return force_release(fault);
    case K::split_members:
    case K::two_primaries: return split(fault);
    case K::clock_jump:
    case K::clock_drift: return move_clock(fault);
    case K::ttl_off: return stop_ttl(fault);
    case K::slow_majority: return slow_majority(fault);
    case K::refuse_sync: return refuse_sync(fault);
    case K::errors: return fail_commands(fault);
    default: return hold_inside(fault);
  }
}

void FaultInjector::crash(const FaultPlan& fault) {
  const auto hit = victim(fault);
  if (!hit || !cluster_.processes.kill(hit->name)) return;
  lasting_.count(fault);
  // A story's processes do what its steps say; a successor would need steps of its own.
  if (hit->scripted) return;
  cluster_.call_at(cluster_.now_ns() + kComesBack, [this, name = hit->name] {
    // A successor that starts in the healed phase would count as a process that has to finish it.
    if (!healed_) cluster_.processes.start_successor(name);
  });
}

/// The history says which of the two, for after a suspension the process's own clock is behind and
/// the bounds of its deadline move with it.
void FaultInjector::pause(const FaultPlan& fault) {
  const auto hit = victim(fault);
  if (!hit) return;
  lasting_.for_a_while(
      fault, {}, fault.for_ms,
      [&](Id) {
        cluster_.processes.pause(hit->name, fault.kind == K::suspend);
        lasting_.count(fault);
      },
      [this, name = hit->name](Id) { return cluster_.processes.resume(name), false; });
}

/// Moves the wall clock alone, which no deadline of the production lock depends on.
void FaultInjector::move_wall_clock(const FaultPlan& fault) {
  const auto hit = victim(fault);
  if (!hit) return;
  lasting_.for_a_while(
      fault, {hit->name}, fault.for_ms,
      [&](Id id) {
        wall_clocks_[hit->name] = id;
        cluster_.processes.set_wall_clock(hit->name, fault.amount);
      },
      [this, name = hit->name](Id id) {
        const bool seen = cluster_.processes.saw_its_wall_clock(name);
        if (wall_clocks_[name] == id) cluster_.processes.set_wall_clock(name, 0);
        return seen;
      });
}

void FaultInjector::elect(const FaultPlan& fault) {
  auto& servers = *cluster_.servers->members;
  const int primary = servers.primary_now();
  if (fault.kind == K::step_down) {
    lasting_.note_now(fault, primary < 0 ? "" : member_name(primary), 0);
    if (servers.step_down()) lasting_.count(fault);
    return;
  }
  const int next = successor(fault, primary);
  if (next < 0) return;
  lasting_.note_now(fault, member_name(next), 0);
  // An election may fail; then nothing happened.
  if (servers.step_up(next, kElectionLimit)) lasting_.count(fault);
}

/// One fault at a time, so that as many stay as it says.
void FaultInjector::take_members(const FaultPlan& fault) {
  auto& servers = *cluster_.servers->members;
  const bool kills = fault.kind != K::stop_member, loses = fault.kind == K::lost_data;
  if (members_away_) return;
  // A second loss while a member still copies could take the only data that there are.
  if (loses && lost_data_ && !servers.all_have_all_data()) return;
  lost_data_ |= loses;
  const auto members = members_hit(fault, servers.primary_now(), servers.size());
  std::vector<std::string> names;
  for (const int member : members) names.push_back(member_name(member));
  lasting_.for_a_while(
      fault, names, fault.for_ms,
      [&](Id) {
        members_away_ = true;
        kills ? servers.kill(members) : servers.stop(members);
        for (const int member : members) {
          if (loses) servers.wipe(member);
        }
        lasting_.count(fault);
      },
      [this, &servers, members, kills](Id) {
        kills ? servers.restart(members) : servers.resume(members);
        return members_away_ = false;
      });
}

/// One at a time, so that it ends as it was.
void FaultInjector::disturb_index(const FaultPlan& fault) {
  auto& data = *cluster_.servers->data;
  if (index_disturbed_) return;
  // Nothing to disturb before the first provider has made it.
  const auto found = data.ttl_seconds();
  if (!found) return;
  if (!ttl_seconds_) ttl_seconds_ = found;
  lasting_.for_a_while(
      fault, {""}, fault.for_ms,
      [&](Id) {
        index_disturbed_ = true;
        data.set_ttl_seconds(fault.kind == K::drop_index
                                 ? std::nullopt
                                 : std::optional(*ttl_seconds_ + fault.amount));
        lasting_.count(fault);
      },
      [this, &data](Id) {
        data.set_ttl_seconds(ttl_seconds_);
        return index_disturbed_ = false;
      });
}

void FaultInjector::administer(const FaultPlan& fault) {
  auto& data = *cluster_.servers->data;
  const auto from = cluster_.now_ns();
  std::string deleted;
  // Without a primary, or a document, there is nothing to delete.
  if (fault.kind == K::drop_collection) {
    if (data.drop_locks()) lasting_.count(fault);
  } else {
    deleted = data.delete_lock(fault.pick);
    if (!deleted.empty()) lasting_.count(fault);
  }
  lasting_.note(fault, deleted, 0, from);
}

/// What the command decides it decides here: `core::ForcedRelease`.
void FaultInjector::force_release(const FaultPlan& fault) {
  auto& data = *cluster_.servers->data;
  auto held = data.held_locks();
  // The document of a doomed process has to stay until the TTL monitor deletes it (G8).
  std::erase_if(held, [](const std::string& name) { return name.starts_with(grave_name("")); });
  if (held.empty()) return;
  const auto& name = held[static_cast<std::size_t>(fault.pick) % held.size()];
  data.ask({1, kAdministratorWaits, core::ReadHoldersCommand{{name}, true}},
           [this, fault](const core::Reply& seen) { take_by_force(fault, seen); });
}

void FaultInjector::take_by_force(const FaultPlan& fault, const core::Reply& seen) {
  // By now the lock may have been released, and a release may leave a document.
  if (healed_ || seen.documents.empty() || seen.documents.front().is_free()) return;
  const auto& document = seen.documents.front();
  const auto force = core::forced_release(document, {kAdministrator, ++forced_});
  if (!force) return;
  // Before it is sent: no answer does not mean no write.
  lasting_.note_write(fault, document.name, force->take.lock_id);
  cluster_.servers->data->ask({1, kAdministratorWaits, force->take},
                             [this, fault, force](const core::Reply& reply) {
                               if (force->taken(reply) != core::ForcedRelease::Taken::yes) return;
                               lasting_.count(fault);
                               free_after_its_wait(*force);
                             });
}

/// On a machine whose clock is as fast as any lock allows. Also after the healing: the wait depends
/// on no server. Without an answer the lock frees itself.
void FaultInjector::free_after_its_wait(const core::ForcedRelease& force) {
  const auto wait_ms = static_cast<double>(force.wait.count());
  const auto shortest_ms = static_cast<std::int64_t>(std::ceil(wait_ms / (1 + core::kMaxDrift)));
  cluster_.call_at(cluster_.now_ns() + shortest_ms * kMs, [this, free = force.free] {
    try {
      cluster_.servers->data->ask({1, kAdministratorWaits, free}, [](const core::Reply&) {});
    } catch (const std::exception&) {
    }
  });
}

void FaultInjector::split(const FaultPlan& fault) {
  // A primary that is cut off stays one for an election timeout; one elected at once is beside it.
  // Without the election the old one may step down before there is a new one.
  auto& servers = *cluster_.servers->members;
  const bool elects = fault.kind == K::two_primaries;
  const int member = elects ? servers.primary_now() : member_of(fault);
  if (member < 0) return;
  const auto links = links_.of_member(member);
  const auto before = links_.touched(links);
  lasting_.for_a_while(
      fault, {member_name(member)}, fault.for_ms,
      [&](Id id) {
        links_.disturb(id, links, {.hold_requests = true, .hold_replies = true});
        if (!elects) return;
        // The others reach each other and are a majority.
        const int next = successor(fault, member);
        const bool elected = next >= 0 && servers.step_up(next, kSecondPrimaryLimit);
        if (elected && servers.is_primary(member)) lasting_.count(fault);
      },
      [this, links, before, elects](Id id) {
        const bool felt = !elects && links_.touched(links) > before;
        links_.leave(id, true);
        return felt;
      });
}

void FaultInjector::move_clock(const FaultPlan& fault) {
  auto& servers = *cluster_.servers->members;
  const int member = member_of(fault);
  if (!servers.reachable(member)) return;
  // ms of a jump, ppm of a drift; within half the margin unless the plan names the member, so that
  // two members' clocks never differ by more than the lock is promised.
  const auto amount = clock_amount(fault, clock_margin_ms_);
  if (fault.kind == K::clock_jump) {
    // A jump stays until the next one, or to the end: it is harmless within the margin, and to go
    // back would be a fault of its own. A drift ends with the clock at true time, unless another
    // moved it since.
    lasting_.note_now(fault, member_name(member), amount);
    const bool moves = servers.clock_ahead_ms(member) != amount;
    clocks_[member] = lasting_.next_id();
    servers.set_clock(member, amount, 0);
    if (moves && servers.shows_its_clock(member)) lasting_.count(fault);
    return;
  }
  lasting_.for_a_while(
      fault, {member_name(member)}, fault.for_ms,
      [&](Id id) {
        clocks_[member] = id;
        servers.set_clock(member, 0, amount);
      },
      [this, &servers, member](Id id) {
        const bool moved = servers.clock_ahead_ms(member) != 0 && servers.reachable(member) &&
                           servers.shows_its_clock(member);
        if (clocks_[member] == id) servers.set_clock(member, 0, 0);
        return moved;
      });
}

void FaultInjector::stop_ttl(const FaultPlan& fault) {
  auto& data = *cluster_.servers->data;
  const auto before = std::make_shared<std::int64_t>(0);
  lasting_.for_a_while(
      fault, {""}, fault.for_ms,
      [&](Id) {
        ++ttl_off_;
        data.set_ttl_monitor(false);
        *before = data.ttl_passes();
      },
      [this, &data, before](Id) {
        const auto passes = data.ttl_passes();
        if (ttl_off_ == 1) data.set_ttl_monitor(true);
        --ttl_off_;
        // One may have been under way. A member that was away counts from zero again.
        return passes <= *before + 1;
      });
}

void FaultInjector::slow_majority(const FaultPlan& fault) {
  const auto links = links_.of_replication();
  const auto before = links_.touched(links);
  lasting_.for_a_while(
      fault, {""}, fault.for_ms,
      [&](Id id) { links_.disturb(id, links, {.delay_replies = milliseconds(fault.amount)}); },
      [this, links, before](Id id) {
        const bool felt = links_.touched(links) > before;
        links_.leave(id, false);
        return felt;
      });
}

/// Hits a secondary, because a primary fetches nothing.
void FaultInjector::refuse_sync(const FaultPlan& fault) {
  const int member = successor(fault, cluster_.servers->members->primary_now());
  if (member < 0) return;
  const auto links = links_.of_fetching(member);
  const auto before = links_.touched(links);
  lasting_.for_a_while(
      fault, {member_name(member)}, fault.for_ms,
      [&](Id id) { links_.disturb(id, links, {.refuse = true}); },
      [this, links, before](Id id) {
        const bool felt = links_.touched(links) > before;
        links_.leave(id, false);
        return felt;
      });
}

void FaultInjector::fail_commands(const FaultPlan& fault) {
  auto& data = *cluster_.servers->data;
  lasting_.note_now(fault, "", fault.amount);
  lasting_.for_a_while(
      fault, {}, kErrorsLast_ms,
      // The amount is a number of commands. An odd pick lets them execute first, which is the
      // harder case: an error, and yet a write.
      [&](Id id) {
        failing_ = id;
        data.fail_next(fault.amount, error_code(fault), fault.pick % 2 != 0);
      },
      // Those of a later fault have taken their place, or these end now.
      [this, &data](Id id) { return failing_ == id && data.stop_failing() > 0; });
}

void FaultInjector::hold_inside(const FaultPlan& fault) {
  const auto process = victim(fault);
  if (!process) return;
  auto inside = cluster_.servers->data->hold_inside(process->name, fault.amount, fault.for_ms);
  if (!inside) return;
  lasting_.for_a_while(
      fault, {inside->hit}, inside->for_ms, [&](Id) { inside->begin(); },
      [end = std::move(inside->end)](Id) { return end(); });
}

void FaultInjector::disturb_link(const FaultPlan& fault) {
  // With no process to hit, it must not disturb a link of no name: that is a member's which asks at
  // its start which address is its own.
  const auto process = victim(fault);
  if (!process) return;
  const milliseconds amount(fault.amount);
  auto links = links_.of_process(process->name);
  LinkRule rule;
  switch (fault.kind) {
    case K::cut_link: rule = {.hold_requests = true, .hold_replies = true}; break;
    case K::refuse_link: rule = {.refuse = true}; break;
    case K::slow_link: rule = {.delay_requests = amount, .delay_replies = amount}; break;
    case K::lost_replies: rule = {.hold_replies = true}; break;
    default: rule = {.delay_requests = amount}; break;
  }
  // The present primary, unless the plan names a member. After an election the process's link to
  // the new one is free again.
  const int primary = rule.hold_requests || rule.refuse ? cluster_.servers->links.sent_to() : -1;
  if (primary >= 0) {
    links = {{process->name, fault.member >= 0 ? static_cast<int>(fault.member) : primary}};
  }
  const auto before = links_.touched(links);
  lasting_.for_a_while(
      fault, {process->name}, fault.for_ms, [&](Id id) { links_.disturb(id, links, rule); },
      [this, links, before, loses = rule.hold_replies](Id id) {
        const bool felt = links_.touched(links) > before;
        links_.leave(id, loses);
        return felt;
      });
}

}  // namespace leasehold::sim
