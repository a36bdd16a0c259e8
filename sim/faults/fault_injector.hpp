#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/release/forced_release.hpp"
#include "sim/faults/cluster_control.hpp"
#include "sim/plan/workload.hpp"

namespace leasehold::sim {

/// Brings a plan's faults about, in either world, and ends them: it decides what a fault hits, what
/// it does, how long it lasts, and which faults may overlap.
///
/// A fault is counted only once it did something, so that a run proves nothing if all its faults
/// missed.
///
/// INVARIANT: each fault that began ends once: by its own time, by `heal`, or at once when it could
/// not begin. If its end throws, it is tried again until it succeeds.
///
/// Determinism: nothing is drawn here. What a fault hits follows from the plan and the state of the
/// run alone.
///
/// Not thread-safe. REQUIRES: it outlives what it asked `call_at` for.
class FaultInjector {
 public:
  FaultInjector(ClusterControl cluster, std::int64_t clock_margin_ms)
      : cluster_(std::move(cluster)), clock_margin_ms_(clock_margin_ms) {}
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  /// Throws when a server in trouble does not answer. Then the fault has no effect, or a part of it
  /// until its time is over.
  void inject(const FaultPlan& fault) {
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

  /// This process, by its place in the plan, sends a command, which histories call `verb`, or gets
  /// the reply to one. Faults that wait for it begin after the present event; without this call
  /// they never begin.
  void saw_command(std::int64_t place, const std::string& verb, bool is_reply) {
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

  [[nodiscard]] bool awaits_a_command() const { return !waiting_.empty(); }
  /// Returns how many faults began at a command.
  [[nodiscard]] std::int64_t begun_at_commands() const { return begun_at_commands_; }

  /// Ends all faults; none begins after this. Throws the error of what did not end.
  void heal() {
    healed_ = true;
    waiting_.clear();
    // Faults of the index end last, because building it asks all members, and one may leave its
    // connections alone for half a minute after its clock moved back.
    end_all([](K kind) { return !is_of_index(kind); });
    if (!cluster_.servers || cluster_.servers->members == nullptr) return;
    members().settle();
    end_all(is_of_index);
    // An earlier primary's changes may have been rolled back since, the end of an earlier fault
    // included.
    if (!ttl_seconds_) return;
    cluster_.insist("restoring the index",
                    [this] { return data().set_ttl_seconds(ttl_seconds_), true; });
  }

 private:
  using K = FaultPlan::Kind;
  using milliseconds = std::chrono::milliseconds;

  static constexpr std::int64_t kMs = 1'000'000;
  // Shorter than a lease, as a supervisor's restart: the successor meets its predecessor's lock.
  static constexpr std::int64_t kComesBack = 50 * kMs;
  static constexpr std::int64_t kTryAgain = 200 * kMs;
  static constexpr milliseconds kElectionLimit{2'000};
  /// Before the old primary notices that it reaches no member.
  static constexpr milliseconds kSecondPrimaryLimit{500};
  static constexpr std::int64_t kErrorsLast_ms = 2'000;
  static constexpr milliseconds kAdministratorWaits{2'000};  ///< for an answer
  static constexpr std::uint64_t kAdministrator = 0xAD;       ///< the first half of its owners

  static bool is_of_index(K kind) { return kind == K::drop_index || kind == K::change_index; }

  /// All that one of them holds or refuses, and the longer delays.
  static LinkRule both(const LinkRule& a, const LinkRule& b) {
    return {.hold_requests = a.hold_requests || b.hold_requests,
            .hold_replies = a.hold_replies || b.hold_replies,
            .delay_requests = std::max(a.delay_requests, b.delay_requests),
            .delay_replies = std::max(a.delay_replies, b.delay_replies),
            .refuse = a.refuse || b.refuse};
  }

  using Id = std::int64_t;
  using End = std::function<bool(Id)>;  ///< returns whether the fault certainly had an effect
  struct Lasting {
    FaultPlan fault;
    std::vector<std::string> hit;  ///< what has a begin and an end in the history
    End end;
    std::string complaint = "not tried yet";  ///< why it did not end
  };
  /// What one fault asks of links, so that its end leaves what the others still do.
  struct Asked {
    Links links;
    LinkRule rule;
  };

  [[nodiscard]] MemberControl& members() const { return *cluster_.servers->members; }
  [[nodiscard]] DataControl& data() const { return *cluster_.servers->data; }
  [[nodiscard]] LinkControl& links() const { return cluster_.servers->links; }

  // What the history says of a fault, how long it lasts, and whether it counts.

  [[nodiscard]] model::Event event_of(const FaultPlan& fault, const std::string& hit,
                                      std::int64_t amount = 0) const {
    return {.at_ns = cluster_.now_ns(),
            .kind = model::Kind::fault,
            .victim = hit,
            .fault = to_string(fault.kind),
            .amount = amount};
  }

  /// A fault of one moment, with an amount in the unit of its kind.
  void note(const FaultPlan& fault, const std::string& hit, std::int64_t amount) {
    cluster_.emit(event_of(fault, hit, amount));
  }

  void count(const FaultPlan& fault) { cluster_.count_effect(fault.kind); }

  /// Notes for all in `hit` that it begins and ends. `begin` is called at once, so it may refer to
  /// the caller's locals; `end` may not. Throws what `begin` throws.
  void for_a_while(const FaultPlan& fault, std::vector<std::string> hit, std::int64_t for_ms,
                   const std::function<void(Id)>& begin, End end_it) {
    const auto from = cluster_.now_ns();
    // Before it does anything, because its effect may be seen before this returns.
    for (const auto& each : hit) {
      auto e = event_of(fault, each, fault.amount);
      e.at_ns = from;
      e.begins = true;
      cluster_.emit(std::move(e));
    }
    const Id id = ++last_;
    lasting_[id] = {fault, std::move(hit), std::move(end_it)};
    try {
      begin(id);
    } catch (const std::exception&) {
      end(id);  // whatever it had done
      throw;
    }
    cluster_.call_at(from + for_ms * kMs, [this, id] { end(id); });
  }

  /// Both the fault's own time and `end_all` come here; the first of them does it.
  void end(Id id) {
    if (try_to_end(id)) return;
    // A server did not answer in time.
    cluster_.call_at(cluster_.now_ns() + kTryAgain, [this, id] { end(id); });
  }

  [[nodiscard]] bool try_to_end(Id id) {
    const auto found = lasting_.find(id);
    if (found == lasting_.end()) return true;
    Lasting& one = found->second;
    try {
      if (one.end(id)) count(one.fault);
    } catch (const std::exception& error) {
      one.complaint = error.what();
      return false;
    }
    for (const auto& each : one.hit) {
      auto e = event_of(one.fault, each);
      e.ends = true;
      cluster_.emit(std::move(e));
    }
    lasting_.erase(found);
    return true;
  }

  /// Ends those of the wanted kinds. Throws the error of the first that did not end.
  void end_all(const std::function<bool(K)>& wanted) {
    cluster_.insist("ending the faults", [&] {
      std::vector<Id> ids;
      for (const auto& [id, one] : lasting_) {
        if (wanted(one.fault.kind)) ids.push_back(id);
      }
      std::string complaint;
      // All are tried, so that one unanswering server keeps no other fault alive.
      for (const Id id : ids) {
        if (try_to_end(id) || !complaint.empty()) continue;
        const Lasting& left = lasting_.at(id);
        complaint = std::string(to_string(left.fault.kind)) + ": " + left.complaint;
      }
      if (!complaint.empty()) throw std::runtime_error(complaint);
      return true;
    });
  }

  // What a fault hits.

  /// The process that the plan names; else mostly one that holds a lock if there is any, else any
  /// that runs; every fourth time one that waits for a reply. Nothing: no process runs that could
  /// be hit; the fault then passes without effect or event.
  [[nodiscard]] std::optional<ProcessView> victim(const FaultPlan& fault) {
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

  [[nodiscard]] int member_of(const FaultPlan& fault) {
    return member_hit(fault, members().primary_now(), members().size());
  }

  /// Which member may follow this primary: the one that the plan names, or any that orders reach;
  /// -1: none.
  [[nodiscard]] int successor(const FaultPlan& fault, int primary) {
    if (fault.member >= 0 && fault.kind != K::two_primaries) return member_of(fault);
    const int size = members().size();
    const auto first =
        std::max(primary, 0) + 1 + static_cast<int>(fault.pick % std::max(size - 1, 1));
    for (int i = 0; i < size; ++i) {
      const int next = (first + i) % size;
      if (next != primary && members().reachable(next)) return next;
    }
    return -1;
  }

  // Processes.

  void crash(const FaultPlan& fault) {
    const auto hit = victim(fault);
    if (!hit || !cluster_.processes.kill(hit->name)) return;
    count(fault);
    // A story's processes do what its steps say; a successor would need steps of its own.
    if (hit->scripted) return;
    cluster_.call_at(cluster_.now_ns() + kComesBack, [this, name = hit->name] {
      // A successor that starts in the healed phase would count as a process that has to finish it.
      if (!healed_) cluster_.processes.start_successor(name);
    });
  }

  /// The history says which of the two, for after a suspension the process's own clock is behind
  /// and the bounds of its deadline move with it.
  void pause(const FaultPlan& fault) {
    const auto hit = victim(fault);
    if (!hit) return;
    for_a_while(
        fault, {}, fault.for_ms,
        [&](Id) {
          cluster_.processes.pause(hit->name, fault.kind == K::suspend);
          count(fault);
        },
        [this, name = hit->name](Id) { return cluster_.processes.resume(name), false; });
  }

  /// Moves the wall clock alone, which no deadline of the production lock depends on.
  void move_wall_clock(const FaultPlan& fault) {
    const auto hit = victim(fault);
    if (!hit) return;
    for_a_while(
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

  // Servers.

  void inject_into_servers(const FaultPlan& fault) {
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

  void elect(const FaultPlan& fault) {
    const int primary = members().primary_now();
    if (fault.kind == K::step_down) {
      note(fault, primary < 0 ? "" : member_name(primary), 0);
      if (members().step_down()) count(fault);
      return;
    }
    const int next = successor(fault, primary);
    if (next < 0) return;
    note(fault, member_name(next), 0);
    // An election may fail; then nothing happened.
    if (members().step_up(next, kElectionLimit)) count(fault);
  }

  /// One fault at a time, so that as many stay as it says.
  void take_members(const FaultPlan& fault) {
    auto& servers = members();
    const bool kills = fault.kind != K::stop_member, loses = fault.kind == K::lost_data;
    if (members_away_) return;
    // A second loss while a member still copies could take the only data that there are.
    if (loses && lost_data_ && !servers.all_have_all_data()) return;
    lost_data_ |= loses;
    const auto hit = members_hit(fault, servers.primary_now(), servers.size());
    std::vector<std::string> names;
    for (const int member : hit) names.push_back(member_name(member));
    for_a_while(
        fault, names, fault.for_ms,
        [&](Id) {
          members_away_ = true;
          kills ? servers.kill(hit) : servers.stop(hit);
          for (const int member : hit) {
            if (loses) servers.wipe(member);
          }
          count(fault);
        },
        [this, &servers, hit, kills](Id) {
          kills ? servers.restart(hit) : servers.resume(hit);
          return members_away_ = false;
        });
  }

  /// Within half the margin unless the plan names the member, so that two members' clocks never
  /// differ by more than the lock is promised.
  void move_clock(const FaultPlan& fault) {
    auto& servers = members();
    const int member = member_of(fault);
    if (!servers.reachable(member)) return;
    const auto amount = clock_amount(fault, clock_margin_ms_);  // ms of a jump, ppm of a drift
    if (fault.kind == K::clock_jump) {
      // A jump stays until the next one, or to the end: it is harmless within the margin, and to go
      // back would be a fault of its own. A drift ends with the clock at true time, unless another
      // moved it since.
      note(fault, member_name(member), amount);
      const bool moves = servers.clock_ahead_ms(member) != amount;
      clocks_[member] = ++last_;
      servers.set_clock(member, amount, 0);
      if (moves && servers.shows_its_clock(member)) count(fault);
      return;
    }
    for_a_while(
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

  // Documents and commands.

  /// One at a time, so that it ends as it was.
  void disturb_index(const FaultPlan& fault) {
    if (index_disturbed_) return;
    // Nothing to disturb before the first provider has made it.
    const auto found = data().ttl_seconds();
    if (!found) return;
    if (!ttl_seconds_) ttl_seconds_ = found;
    for_a_while(
        fault, {""}, fault.for_ms,
        [&](Id) {
          index_disturbed_ = true;
          data().set_ttl_seconds(fault.kind == K::drop_index
                                     ? std::nullopt
                                     : std::optional(*ttl_seconds_ + fault.amount));
          count(fault);
        },
        [this](Id) {
          data().set_ttl_seconds(ttl_seconds_);
          return index_disturbed_ = false;
        });
  }

  void administer(const FaultPlan& fault) {
    auto e = event_of(fault, "");
    // Without a primary, or a document, there is nothing to delete.
    if (fault.kind == K::drop_collection) {
      if (data().drop_locks()) count(fault);
    } else {
      e.victim = data().delete_lock(fault.pick);
      if (!e.victim.empty()) count(fault);
    }
    cluster_.emit(std::move(e));
  }

  /// What the command decides it decides here: `core::ForcedRelease`.
  void force_release(const FaultPlan& fault) {
    auto held = data().held_locks();
    // The document of a doomed process has to stay until the TTL monitor deletes it (G8).
    std::erase_if(held, [](const std::string& name) { return name.starts_with(grave_name("")); });
    if (held.empty()) return;
    const auto& name = held[static_cast<std::size_t>(fault.pick) % held.size()];
    data().ask({1, kAdministratorWaits, core::ReadHoldersCommand{{name}}},
               [this, fault](const core::Reply& seen) { take_by_force(fault, seen); });
  }

  void take_by_force(const FaultPlan& fault, const core::Reply& seen) {
    // By now the lock may have been released, and a release may leave a document.
    if (healed_ || seen.documents.empty() || seen.documents.front().is_free()) return;
    const auto& document = seen.documents.front();
    const auto force = core::forced_release(document, {kAdministrator, ++forced_});
    if (!force) return;
    // Before it is sent: no answer does not mean no write.
    auto e = event_of(fault, document.name);
    e.lock_id = force->take.lock_id;
    cluster_.emit(std::move(e));
    data().ask({1, kAdministratorWaits, force->take},
               [this, fault, force](const core::Reply& reply) {
                 if (force->taken(reply) != core::ForcedRelease::Taken::yes) return;
                 count(fault);
                 free_after_its_wait(*force);
               });
  }

  /// On a machine whose clock is as fast as any lock allows. Also after the healing: the wait
  /// depends on no server. Without an answer the lock frees itself.
  void free_after_its_wait(const core::ForcedRelease& force) {
    const auto wait_ms = static_cast<double>(force.wait.count());
    const auto shortest_ms = static_cast<std::int64_t>(std::ceil(wait_ms / (1 + core::kMaxDrift)));
    cluster_.call_at(cluster_.now_ns() + shortest_ms * kMs, [this, free = force.free] {
      try {
        data().ask({1, kAdministratorWaits, free}, [](const core::Reply&) {});
      } catch (const std::exception&) {
      }
    });
  }

  void stop_ttl(const FaultPlan& fault) {
    const auto before = std::make_shared<std::int64_t>(0);
    for_a_while(
        fault, {""}, fault.for_ms,
        [&](Id) {
          ++ttl_off_;
          data().set_ttl_monitor(false);
          *before = data().ttl_passes();
        },
        [this, before](Id) {
          const auto passes = data().ttl_passes();
          if (ttl_off_ == 1) data().set_ttl_monitor(true);
          --ttl_off_;
          // One may have been under way. A member that was away counts from zero again.
          return passes <= *before + 1;
        });
  }

  void fail_commands(const FaultPlan& fault) {
    note(fault, "", fault.amount);
    for_a_while(
        fault, {}, kErrorsLast_ms,
        // The amount is a number of commands. An odd pick lets them execute first, which is the
        // harder case: an error, and yet a write.
        [&](Id id) {
          failing_ = id;
          data().fail_next(fault.amount, error_code(fault), fault.pick % 2 != 0);
        },
        // Those of a later fault have taken their place, or these end now.
        [this](Id id) { return failing_ == id && data().stop_failing() > 0; });
  }

  void hold_inside(const FaultPlan& fault) {
    const auto process = victim(fault);
    if (!process) return;
    auto inside = data().hold_inside(process->name, fault.amount, fault.for_ms);
    if (!inside) return;
    for_a_while(
        fault, {inside->hit}, inside->for_ms, [&](Id) { inside->begin(); },
        [end = std::move(inside->end)](Id) { return end(); });
  }

  // Links. INVARIANT: the world has for each link all rules of `asked_` at once.

  void split(const FaultPlan& fault) {
    // A primary that is cut off stays one for an election timeout; one elected at once is beside
    // it. Without the election the old one may step down before there is a new one.
    const bool elects = fault.kind == K::two_primaries;
    const int member = elects ? members().primary_now() : member_of(fault);
    if (member < 0) return;
    Links all;
    for (int other = 0; other < links().size(); ++other) {
      if (other == member) continue;
      for (const char* what : {"/beat", "/sync"}) {
        all.push_back({member_name(member) + what, other});
        all.push_back({member_name(other) + what, member});
      }
    }
    const LinkRule cut{.hold_requests = true, .hold_replies = true};
    if (!elects) return disturb(fault, member_name(member), all, cut);
    disturb(fault, member_name(member), all, cut, [&] {
      // The others reach each other and are a majority.
      const int next = successor(fault, member);
      const bool elected = next >= 0 && members().step_up(next, kSecondPrimaryLimit);
      if (elected && members().is_primary(member)) count(fault);
    });
  }

  /// By which this member fetches what the others have.
  [[nodiscard]] Links fetching(int member) const {
    Links all;
    for (int other = 0; other < links().size(); ++other) {
      if (other != member) all.push_back({member_name(member) + "/sync", other});
    }
    return all;
  }

  void slow_majority(const FaultPlan& fault) {
    Links all;
    for (int member = 0; member < links().size(); ++member) {
      for (auto& link : fetching(member)) all.push_back(std::move(link));
    }
    disturb(fault, "", all, {.delay_replies = milliseconds(fault.amount)});
  }

  /// Hits a secondary, because a primary fetches nothing.
  void refuse_sync(const FaultPlan& fault) {
    const int member = successor(fault, members().primary_now());
    if (member >= 0) disturb(fault, member_name(member), fetching(member), {.refuse = true});
  }

  void disturb_link(const FaultPlan& fault) {
    // With no process to hit, it must not disturb a link of no name: that is a member's which asks
    // at its start which address is its own.
    const auto process = victim(fault);
    if (!process) return;
    const milliseconds amount(fault.amount);
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
    const int primary = rule.hold_requests || rule.refuse ? links().sent_to() : -1;
    const int only = primary >= 0 && fault.member >= 0 ? static_cast<int>(fault.member) : primary;
    Links all;
    for (int to = 0; to < links().size(); ++to) {
      if (only < 0 || to == only) all.push_back({process->name, to});
    }
    disturb(fault, process->name, all, rule);
  }

  /// It counts if the rule affected something that these links carried; with `then`, which is
  /// called once it is in force, that is for `then` to say.
  void disturb(const FaultPlan& fault, const std::string& hit, const Links& those,
               const LinkRule& rule, const std::function<void()>& then = nullptr) {
    const auto before = touched(those);
    for_a_while(
        fault, {hit}, fault.for_ms,
        [&](Id id) {
          asked_[id] = {those, rule};
          for (const Link& link : those) links().set_link_rule(link, rule_of(link));
          if (then) then();
        },
        [this, those, before, counts = !then](Id id) {
          const bool felt = counts && touched(those) > before;
          const auto own = asked_.extract(id);
          if (own.empty()) return felt;
          for (const Link& link : own.mapped().links) {
            // Waiting bytes are dropped first, or the rule's end would let them through.
            if (own.mapped().rule.hold_replies) links().reset_link(link);
            links().set_link_rule(link, rule_of(link));
          }
          return felt;
        });
  }

  /// How often rules affected what these carry.
  [[nodiscard]] std::int64_t touched(const Links& those) const {
    std::int64_t sum = 0;
    for (const Link& link : those) sum += links().touched(link);
    return sum;
  }

  /// All rules of this link at once.
  [[nodiscard]] LinkRule rule_of(const Link& link) const {
    LinkRule sum;
    for (const auto& [id, asked] : asked_) {
      const auto& those = asked.links;
      if (std::ranges::find(those, link) != those.end()) sum = both(sum, asked.rule);
    }
    return sum;
  }

  const ClusterControl cluster_;
  const std::int64_t clock_margin_ms_;
  std::vector<FaultPlan> waiting_;  ///< for a command; `nth` counts down
  std::int64_t begun_at_commands_ = 0;
  std::uint64_t forced_ = 0;  ///< each of its owners is another
  std::map<Id, Lasting> lasting_;
  std::map<Id, Asked> asked_;
  Id last_ = 0;
  // What only one fault can have at a time belongs to the last that began; only its end ends it.
  Id failing_ = 0;                         ///< the fault that makes commands fail
  std::map<int, Id> clocks_;               ///< the fault that moved this member's last
  std::map<std::string, Id> wall_clocks_;  ///< and this process's
  int ttl_off_ = 0;                        ///< how many have the monitor off
  // INVARIANT: all by one fault, so the plan's kinds decide how many may be away at once.
  bool members_away_ = false;
  bool lost_data_ = false, index_disturbed_ = false, healed_ = false;
  std::optional<std::int64_t> ttl_seconds_;  ///< of the index, before it was first disturbed
};

}  // namespace leasehold::sim
