#include "properties/campaigns/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/workers/worker_judge.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::properties {
namespace {

using model::Finding;
using model::Check;
using model::Open;
using model::Verdict;

constexpr int kCaseSeconds = 20;
constexpr int kEveryKindFrom_s = 240;
/// The few plans of a shorter run may have no process with a queue.
constexpr int kQueuesFrom_s = 60;
/// From the end of the faults until a generated plan's dead documents have expired, at most.
constexpr std::int64_t kLongestDeath_ms = 26'000;
constexpr double kDocumentSeconds = 60;
constexpr std::int64_t kMostDocuments = 20;  ///< that a floor asks for

double checked_seconds(const VerifyOptions& options) {
  const auto times = times_of(options);
  return options.only_case ? times.case_s : times.case_s * times.cases;
}

/// The number of faults of a kind or group that must have an effect in 300 s, given that most kinds
/// of the group can happen, as this one.
struct GroupFloor {
  const char* group;
  const char* what;
  std::int64_t floor;
  sim::FaultPlan::Kind usual;
};
constexpr GroupFloor kGroupFloors[] = {
    {"failover", "failover faults", 30, sim::FaultPlan::Kind::kill_member},
    {"network", "network faults", 100, sim::FaultPlan::Kind::slow_link},
    {"ttl", "ttl faults", 20, sim::FaultPlan::Kind::drop_index},
    {"majority", "majority faults", 15, sim::FaultPlan::Kind::slow_majority},
    {"errors", "errors faults", 15, sim::FaultPlan::Kind::errors},
    {"administrator", "administrator faults", 10, sim::FaultPlan::Kind::force_release},
    {"clock", "clock-jump", 15, sim::FaultPlan::Kind::clock_jump},
};

/// An administrator and fail points leave the documents of a worker's lock alone.
bool can_hit(std::string_view group, bool foreign) {
  return !foreign || !sim::is_of_documents(group);
}

void limit_excuses(std::vector<Finding>& findings, const Demands& demands) {
  constexpr std::int64_t kFew = 20;
  constexpr int kOfChosen = 50;
  for (const auto& [check, simulated, live] : kExcuseLimits) {
    const auto usual = demands.live ? live : simulated;
    const auto percent = demands.chosen ? std::max(usual, kOfChosen) : usual;
    for (Finding& f : findings) {
      // A process that was stopped hides nothing: its time is taken out of the check.
      const auto paused = f.excused[static_cast<std::size_t>(model::Excuse::pause)];
      const auto excused = f.all_excused() - paused, all = f.checked + f.all_excused();
      const bool too_many = excused >= kFew && excused * 100 > percent * all;
      if (f.check != check || !too_many) continue;
      f.leave_open(Open::excused,
                   fmt::format("too many were excused: {} of {} checks ({}), at most {} % may be "
                               "by what is not a pause",
                               excused, all, excuses_of(f), percent));
    }
  }
}

}  // namespace

Times times_of(const VerifyOptions& options) {
  const int all = std::max(1, options.seconds / kCaseSeconds);
  const double case_s = static_cast<double>(options.seconds) / all;
  if (!has_slow_ttl(options)) return {all, case_s, false};
  const std::int64_t rest =
      options.seconds - (options.set.ttl_period_ms + kLongestDeath_ms) / 1'000;
  if (rest < kCaseSeconds) return {all, case_s, false};
  return {std::max(1, static_cast<int>(static_cast<double>(rest) / case_s)), case_s, true};
}

std::int64_t seconds_for_g8(const VerifyOptions& options) {
  return (options.set.ttl_period_ms + kLongestDeath_ms) / 1'000 + kCaseSeconds;
}

model::Floors floors_for(const VerifyOptions& options) {
  model::Floors per_minute{{Check::G1, 5},   {Check::G2, 200}, {Check::G3, 100},
                           {Check::G4, 200}, {Check::G5, 3},   {Check::G6, 200},
                           {Check::G7, 200}, {Check::G8, 2},   {Check::G9, 30}};
  for (const Check rule : checks_of(model::CheckKind::rule)) per_minute[rule] = 200;
  model::Floors floors;
  for (const auto& [check, count] : per_minute) {
    const bool once = options.plan || (has_slow_ttl(options) && check == Check::G8);
    // That floor ends at a minute's, so that a longer run reaches it.
    const bool by_documents = options.foreign && model::kByDocuments.contains(check);
    const auto least = by_documents ? std::min<std::int64_t>(count, kMostDocuments) : count;
    const auto most = by_documents ? kDocumentSeconds : checked_seconds(options);
    const double share = std::min(checked_seconds(options), most) * options.floor_percent / 6'000;
    const auto scaled = std::llround(std::ceil(static_cast<double>(least) * share));
    floors[check] = once ? 1 : std::max<std::int64_t>(scaled, 1);
  }
  return floors;
}

std::set<std::string> kinds_that_hit(const sim::Plan& plan, const sim::live::TheirSet& set,
                                     bool foreign) {
  std::set<std::string> kinds;
  for (const auto& fault : plan.faults) {
    const bool hits = can_hit(sim::group_of(fault.kind), foreign);
    if (hits && set.can_have(fault.kind)) kinds.insert(sim::to_string(fault.kind));
  }
  return kinds;
}

Totals activity_floors(const VerifyOptions& options) {
  Totals floors;
  if (options.drawn) return floors;
  if (options.plan) {
    const bool foreign = options.foreign.has_value();
    for (const auto& kind : kinds_that_hit(*options.plan, options.set, foreign)) {
      floors[kind] = 1;
    }
    return floors;
  }
  const double seconds = checked_seconds(options);
  if (options.faults.contains("process") && options.foreign) {  // in 300 s, as all that follow
    floors = {{"acquisitions", 300}, {"crash", 10}, {"pause", 10}};
  } else if (options.faults.contains("process")) {
    floors = {{"acquisitions", 3'000}, {"takeovers", 40}, {"extensions", 60}, {"crash", 20},
              {"stale_writes", 5},     {"pause", 20},     {"hand_overs", 20}, {"held_too_long", 5}};
  }
  for (const auto& [group, what, floor, usual] : kGroupFloors) {
    const bool hits = options.faults.contains(group) && can_hit(group, options.foreign.has_value());
    if (!hits || !options.set.can_have(usual)) continue;
    floors[what] = floor;
    if (!options.set.script) continue;
    auto kinds = sim::fault_kinds(sim::Harm::none);
    const std::string_view its = group;
    std::erase_if(kinds, [&](auto kind) { return sim::group_of(kind) != its; });
    const auto can = [&](auto kind) { return options.set.can_have(kind); };
    floors[what] = floor * std::ranges::count_if(kinds, can) / std::ssize(kinds);
  }
  const bool queues = std::ranges::any_of(options.waitings, [&](sim::Waiting waiting) {
    return sim::waits_in_queue({.waiting = waiting}, options.lock);
  });
  const bool draws_one = seconds >= kQueuesFrom_s;
  if (queues && draws_one && !options.foreign && options.faults.contains("process")) {
    floors["queue_turns"] = 100;
    floors["queue_waits"] = 100;
  }
  for (auto& [key, count] : floors) {
    const double asked = static_cast<double>(count) * seconds * options.floor_percent / 30'000;
    count = static_cast<std::int64_t>(asked);
  }
  // In a run that is long enough every kind must have an effect, and some calls
  // are for permits, for several locks, to lead or to read.
  if (options.foreign || seconds < kEveryKindFrom_s) return floors;
  const bool ours = !sim::lock_under_test(options.lock).is_published();
  if (ours && options.faults.contains("process")) {
    for (const auto* what : {"permits_held", "all_calls", "terms", "batches", "joins_refused",
                             "dead_readers", "entries_shared"}) {
      floors[what] = 1;
    }
  }
  for (const auto kind : sim::fault_kinds(sim::Harm::none)) {
    if (options.set.can_have(kind) && options.faults.contains(sim::group_of(kind))) {
      floors.emplace(sim::to_string(kind), 1);
    }
  }
  return floors;
}

std::optional<Shortfall> shortfall(const Finding& finding, const model::Floors& floors) {
  const auto found = floors.find(finding.check);
  const auto floor = found == floors.end() ? 1 : found->second;
  const auto certain = finding.only_stalled() ? 0 : finding.checked;
  if (is_against(finding) || certain >= floor) return std::nullopt;
  return Shortfall{to_string(finding.check), certain, floor};
}

void conclude(std::vector<Finding>& findings, const Demands& demands) {
  for (Finding& f : findings) {
    const auto floor = demands.floors.find(f.check);
    if (floor != demands.floors.end()) f.floor = floor->second;
    if (f.checked >= std::max<std::int64_t>(f.floor, 1)) continue;
    if (f.floor == 0) {
      f.leave_open(Open::never_tested, model::kNeverTested);
      continue;
    }
    if (f.never_tested()) f.verdict = Verdict::holds;  // its floor says more
    f.leave_open(Open::too_seldom,
                 fmt::format("checked {} times, the floor is {}", f.checked, f.floor));
  }
  limit_excuses(findings, demands);
}

CampaignAnswer answer(const std::vector<Finding>& findings, const Hindrances& h) {
  const bool whole = !h.nobody_ready && !h.interrupted && !h.stood_still && h.too_seldom.empty() &&
                     !findings.empty();
  auto verdict = model::overall(findings);
  if (verdict == Verdict::holds && !whole) verdict = Verdict::unknown;
  if (verdict != Verdict::unknown && h.harness_failure.empty()) return {verdict, ""};
  const auto add = [](std::string& to, const std::string& what, const char* between) {
    to += (to.empty() ? "" : between) + what;
  };
  std::string too_seldom = h.too_seldom, late, other;
  bool unread = false;
  for (const Finding& f : findings) {
    if (f.verdict != Verdict::unknown || f.check == Check::activity) continue;
    const std::string name = to_string(f.check);
    unread |= f.is_open(Open::unread);
    if (below_floor(f)) {
      const auto floor = std::max<std::int64_t>(f.floor, 1);
      add(too_seldom, fmt::format("{} {} of {}", name, f.checked, floor), ", ");
    } else {
      add(f.only_stalled() || f.is_open(Open::excused) ? late : other, name, ", ");
    }
  }
  const bool once_more = !h.nobody_ready && !h.interrupted && h.harness_failure.empty();
  const std::pair<bool, std::string> causes[]{
      {!h.harness_failure.empty(),
       "look at the last words of what died, and at memory and disk, and run it again"},
      {h.nobody_ready, "no worker became ready: run its command by hand, and see what it says"},
      {h.interrupted, "it was interrupted: let it run to its end"},
      {unread, std::string(kNotRead) + ": make it larger, or give the user `read` on `local`"},
      {h.stood_still,
       "the machine stood still for more than half of the time: give it more of a CPU"},
      {!late.empty(), "too much was late (" + late + "): run it on a machine that does less else" +
                          (h.see_more.empty() ? "" : ", or " + h.see_more)},
      {!too_seldom.empty() && once_more,
       "seen too seldom: " + too_seldom + "; " +
           (h.see_more.empty() ? "run a plan that does more of it" : h.see_more)},
      {!other.empty() && !unread,
       "the lines of " + other +
           " say what is missing; scenarios/guide/verdict.md says what to do"}};
  std::string out;
  for (const auto& [is_one, what] : causes) {
    if (is_one) add(out, what, "; ");
  }
  return {verdict, out.empty() ? "run it again: nothing was checked" : out};
}

std::vector<Shortfall> idle(const VerifyReport& so_far) {
  auto seen = so_far.totals;
  for (const auto& [name, count] : so_far.took_effect) {
    seen[name] += count;
    const auto kind = sim::fault_named(name);
    if (kind) seen[std::string(sim::group_of(*kind)) + " faults"] += count;
  }
  std::vector<Shortfall> all;
  for (const auto& [what, floor] : activity_floors(so_far.options)) {
    if (seen[what] < floor) all.push_back({what, seen[what], floor});
  }
  return all;
}

std::vector<Shortfall> shortfalls(const VerifyReport& so_far) {
  auto all = idle(so_far);
  const auto floors = floors_for(so_far.options);
  for (const Finding& f : so_far.findings) {
    if (auto one = shortfall(f, floors)) all.push_back(std::move(*one));
  }
  return all;
}

std::string to_string(const std::vector<Shortfall>& all) {
  std::string out;
  for (const auto& [what, seen, floor] : all) {
    out += fmt::format("{}{} {} of {}", out.empty() ? "" : ", ", what, seen, floor);
  }
  return out;
}

bool goes_on(const VerifyReport& so_far) {
  const auto& options = so_far.options;
  if (options.only_case || so_far.findings.empty()) return false;
  if (so_far.interrupted || !so_far.harness_failure.empty()) return false;
  // A scripted plan shows the same each time.
  const bool used_up = options.plan ? sim::is_scripted(*options.plan) ||
                                          so_far.cases >= kMostTimesAsked * options.times
                                    : so_far.elapsed_s >= kMostTimesAsked * options.seconds;
  if (used_up) return false;
  // A stall leaves open what another case can decide.
  if (std::ranges::any_of(so_far.findings, is_against)) return false;
  auto missing = shortfalls(so_far);
  // A case that does not wait for a slow TTL monitor never sees its deletions.
  if (has_slow_ttl(options) && !settles_at_last(so_far)) {
    std::erase_if(missing, [](const Shortfall& s) { return s.what == to_string(Check::G8); });
  }
  return !missing.empty();
}

bool settles_at_last(const VerifyReport& so_far) {
  const auto left = kMostTimesAsked * so_far.options.seconds - so_far.elapsed_s;
  if (left < static_cast<double>(seconds_for_g8(so_far.options))) return false;
  const auto floors = floors_for(so_far.options);
  return std::ranges::any_of(so_far.findings, [&](const Finding& f) {
    return f.check == Check::G8 && shortfall(f, floors);
  });
}

}  // namespace leasehold::properties
