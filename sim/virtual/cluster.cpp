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
  errors_before_ = servers_.injected_errors();
  servers_.fail_next(static_cast<int>(count), code, executed);
}

std::int64_t SimulatedServers::stop_failing() {
  servers_.fail_next(0, 0, false);
  return servers_.injected_errors() - errors_before_;
}

/// Several may hold one process's commands at a time; the longest wait counts.
std::optional<DataControl::Inside> SimulatedServers::hold_inside(const std::string& process,
                                                                 std::int64_t wait_ms,
                                                                 std::int64_t for_ms) {
  auto& link = link_of_(process);
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
    link_of_(link.peer).rules[to] = rule;
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
  return link_of_(link.peer).touched[link.member];
}

}  // namespace leasehold::sim::simulated
