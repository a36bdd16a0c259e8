#include "sim/virtual/cluster.hpp"

#include <algorithm>

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"

namespace leasehold::sim::simulated {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kBeat = ServerSettings{}.heartbeat_ns;

/// 1 for the peer "member-1/sync"; -1 for a process.
int member_of(const std::string& peer) {
  for (int m = 0; m < kMembers; ++m) {
    if (peer.starts_with(member_name(m) + "/")) return m;
  }
  return -1;
}

}  // namespace

/// In the order of their starts, by which a plan's numbers mean the same in each run.
std::vector<ProcessView> SimulatedProcesses::running() {
  std::vector<ProcessView> views;
  for (const auto& p : all_) {
    // The doomed one has to hold its lock until it is killed: its takeover must not depend on luck.
    if (p->crashed() || p->paused() || p->is_doomed()) continue;
    views.push_back(
        {p->name(), place_of(p->name()), p->holds(), p->awaits_a_reply(), p->plan().scripted});
  }
  return views;
}

/// A few dozen, and faults are rare: no index is worth its upkeep.
Process& SimulatedProcesses::named(const std::string& name) {
  return **std::find_if(all_.begin(), all_.end(), [&](const auto& p) { return p->name() == name; });
}

void SimulatedProcesses::note(const Process& process, model::Kind kind, bool suspends,
                              std::int64_t kept_since_ns) {
  emit_({.at_ns = queue_.now(),
         .kind = kind,
         .process = process.name(),
         .from_ns = kept_since_ns,
         .suspended = suspends});
}

/// First the process, then the event: what it says at its death comes before it.
bool SimulatedProcesses::kill(const std::string& name) {
  Process& p = named(name);
  p.crash();
  note(p, model::Kind::crash, false, p.kept_since());
  return true;
}

void SimulatedProcesses::start_successor(const std::string& name) {
  // A copy of the plan: where it stands may move when another process is added.
  const ProcessPlan plan = named(name).plan();
  start_anew_(name + "'", plan);
}

void SimulatedProcesses::pause(const std::string& name, bool suspends) {
  Process& p = named(name);
  p.pause(suspends);
  if (suspends) suspended_.insert(name);
  note(p, model::Kind::pause, suspends);
}

/// The event comes first, since the process acts at once when it goes on.
void SimulatedProcesses::resume(const std::string& name) {
  Process& p = named(name);
  const bool suspends = suspended_.erase(name) > 0;
  // A paused process can be killed; then there is nothing to go on.
  if (p.crashed()) return;
  note(p, model::Kind::resume, suspends);
  p.resume();
}

/// Only the published locks read that clock, so only they can be harmed by it.
void SimulatedProcesses::set_wall_clock(const std::string& name, std::int64_t offset_ms) {
  named(name).set_wall_offset(offset_ms);
}

/// As a client sees it that reaches this member alone: after a split two may say that they are.
bool SimulatedServers::is_primary(int member) {
  PerMember<bool> alone{};
  alone[member] = true;
  return servers_.serving().primary_for(alone) == member;
}

/// The election is over when this returns, so the limit, which is for a real set, has no meaning.
bool SimulatedServers::step_up(int member, milliseconds) {
  const int before = servers_.primary();
  servers_.serving().step_up(member);
  return servers_.primary() != before;
}

/// By the manual on replSetStepDown, by force: without a successor that has caught up.
bool SimulatedServers::step_down() {
  const bool there = servers_.primary() >= 0;
  servers_.serving().step_down_primary();
  return there;
}

/// Its drift so far is part of it.
std::int64_t SimulatedServers::clock_ahead_ms(int member) {
  return servers_.serving().clock_ms(member) - ServerSettings{}.epoch_ms - queue_.now() / kMs;
}

/// As the server parameter `ttlMonitorEnabled` on each of them.
void SimulatedServers::set_ttl_monitor(bool on) {
  for (int m = 0; m < kMembers; ++m) servers_.all(&ReplicaSet::set_ttl_monitor, m, on);
}

/// Remembers the index that it saw first, for what is dropped cannot be asked any more.
std::optional<std::int64_t> SimulatedServers::ttl_seconds() {
  const auto found = servers_.serving().ttl_index();
  if (!ttl_index_) ttl_index_ = found;
  return found ? std::optional(found->after_s) : std::nullopt;
}

/// On the field of the index that was seen first: what was dropped comes back as it was.
void SimulatedServers::set_ttl_seconds(std::optional<std::int64_t> seconds) {
  auto index = ttl_index_;
  if (seconds) {
    index->after_s = *seconds;
  } else {
    index.reset();
  }
  servers_.serving().set_ttl_index(index);
}

void SimulatedServers::ask(const core::Command& command, Answered answered) {
  const int primary = servers_.primary();
  if (primary < 0) return;
  auto bytes = std::make_shared<const Object>(to_object(*mongo::build(command, kCollection).get()));
  servers_.command(primary, {std::move(bytes)},
                   [command, answered = std::move(answered)](ServerAnswer answer,
                                                             const Object& reply) {
                     if (answer != ServerAnswer::reply) return;
                     answered(mongo::read_reply(command, *Bytes(reply).get()));
                   });
}

/// As the fail point failCommand; how often it struck is counted from here.
void SimulatedServers::fail_next(std::int64_t count, int code, bool executed) {
  errors_before_ = servers_.counts().injected_errors;
  servers_.fail_next(static_cast<int>(count), code, executed);
}

std::int64_t SimulatedServers::stop_failing() {
  servers_.fail_next(0, 0, false);
  return servers_.counts().injected_errors - errors_before_;
}

/// Several may hold one process's commands at a time; the longest wait counts.
std::optional<DataControl::Inside> SimulatedServers::hold_inside(const std::string& process,
                                                                 std::int64_t wait_ms,
                                                                 std::int64_t for_ms) {
  auto& link = processes_.named(process).link();
  return Inside{process, for_ms, [&link, wait_ms] { link.inside_ms.insert(wait_ms); },
                [&link, wait_ms, before = link.waited_inside] {
                  link.inside_ms.erase(link.inside_ms.find(wait_ms));
                  return link.waited_inside > before;
                }};
}

/// A peer that is no member is a process, and its network obeys the rule itself. Of members the
/// link by which they replicate may be late or refuse, and the other may be down.
void SimulatedServers::set_link_rule(const Link& link, const LinkRule& rule) {
  const int from = member_of(link.peer), to = link.member;
  if (from < 0) {
    processes_.named(link.peer).link().rules[to] = rule;
  } else if (link.peer.ends_with("/sync")) {
    const std::int64_t delay_ns = rule.delay_replies.count() * kMs;
    servers_.all(&ReplicaSet::set_replication_delay, from, delay_ns);
    if (rule.refuse) servers_.all(&ReplicaSet::fail_fetch, from, to);
  } else {
    // The set knows a link as up or down. One direction that is held back is enough.
    const bool was_up = is_up(from, to);
    held_[from][to] = rule.hold_requests;
    if (is_up(from, to) != was_up) servers_.all(&ReplicaSet::set_link, to, from, !was_up);
  }
}

std::int64_t SimulatedServers::touched(const Link& link) {
  // Members beat all the time.
  // So a link that was down for longer than a beat was felt.
  if (member_of(link.peer) >= 0) return queue_.now() / kBeat;
  return processes_.named(link.peer).link().touched[link.member];
}

}  // namespace leasehold::sim::simulated
