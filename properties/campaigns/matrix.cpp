#include "properties/campaigns/matrix.hpp"

#include <algorithm>

#include "sim/plan/lock_registry.hpp"

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using model::Verdict;

/// The number of checks of a guarantee that a cell needs to say that it holds.
constexpr std::int64_t kFloor = 3;

/// Without a death no lock is taken over, and then G1 is never put to the test. A published lock
/// breaks promises by the death alone, which has a row of its own.
void let_one_die(sim::Plan& plan, std::uint64_t seed) {
  FaultPlan death;
  death.kind = FaultPlan::Kind::crash;
  death.at_ms = 500 + static_cast<std::int64_t>(seed * 397 % 2'000);
  death.pick = static_cast<std::int64_t>(seed / 2 % 4);
  const auto later = [&](const FaultPlan& other) { return other.at_ms > death.at_ms; };
  plan.faults.insert(std::find_if(plan.faults.begin(), plan.faults.end(), later), death);
}

/// A run says nothing if its recorder missed something.
bool is_well_formed(const Judgement& judgement) {
  const auto& all = judgement.findings;
  return std::none_of(all.begin(), all.end(), [](const model::Finding& f) {
    return f.check == model::Check::form && f.verdict != Verdict::holds;
  });
}

/// Adds what one run says of one guarantee.
void add(Cell& cell, const model::Finding& f, bool counts, std::uint64_t seed) {
  if (!cell.verdict) return;
  if (counts) cell.checked += f.checked;
  if (cell.verdict == Verdict::violated || f.verdict != Verdict::violated) return;
  cell.verdict = Verdict::violated;
  cell.why = f.why;
  cell.seed = seed;
}

}  // namespace

const char* to_string(const Cell& cell) {
  return cell.verdict ? model::to_string(*cell.verdict) : "not promised";
}

std::vector<std::string> matrix_faults() {
  std::vector<std::string> faults{"none"};
  for (const auto kind : sim::fault_kinds(sim::Harm::alone)) {
    faults.emplace_back(sim::to_string(kind));
  }
  return faults;
}

std::vector<std::string> matrix_locks() {
  std::vector<std::string> names;
  for (const auto& lock : sim::locks()) {
    if (!lock.is_sabotaged()) names.push_back(lock.name);
  }
  return names;
}

sim::Plan matrix_plan(const std::string& lock, const std::string& fault, std::uint64_t seed) {
  PlanLimits limits{.lock = lock, .processes = {2, 5}, .locks = {1, 2}, .faulty_ms = 5'000};
  limits.only = sim::fault_named(fault);
  if (!limits.only) limits.groups.clear();
  auto plan = draw_plan(seed, limits);
  // Two leases; the server's default is a minute, for leases of half one.
  plan.ttl_period_ms = 2'000;
  if (lock == "leasehold" && seed % 2 == 0) let_one_die(plan, seed);
  for (auto& p : plan.processes) {
    p.expiry_ms = 1'000;  // one limit for all, because their texts assume it
    p.long_hold_percent = 10;
    if (lock == "leasehold") continue;
    p.callers = 1;  // a published lock is one for each holder, and waits as distributed-lock does
    p.waiting = sim::Waiting::uniform;
  }
  return plan;
}

std::map<model::Check, Cell> run_row(const std::string& lock, const std::string& fault,
                                     std::uint64_t seeds, const RunPlan& run) {
  std::map<model::Check, Cell> row;
  for (const auto g : model::kPromised) {
    if (sim::promise_of(lock, g).empty()) row[g].verdict.reset();
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto judgement = run(matrix_plan(lock, fault, seed));
    const bool counts = is_well_formed(judgement);
    for (const auto& f : judgement.findings) {
      if (model::kPromised.contains(f.check)) add(row[f.check], f, counts, seed);
    }
  }
  for (auto& [g, cell] : row) {
    if (cell.verdict == Verdict::unknown && cell.checked >= kFloor) cell.verdict = Verdict::holds;
  }
  return row;
}

std::optional<std::uint64_t> first_break(const std::string& lock, const std::string& fault,
                                         model::Check guarantee, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (breaks(simulate(matrix_plan(lock, fault, seed)).judgement, guarantee)) return seed;
  }
  return std::nullopt;
}

const std::vector<LiveDifference>& live_differences() {
  static const std::vector<LiveDifference> all{
      {"insert-unique", model::Check::G9, "the driver's sessions send commands of their own"},
      {"document-level", model::Check::G9,
       "a driver's first command may find a stale connection"},
      {"set-on-insert", model::Check::G9,
       "a driver's first command may find a stale connection"},
      {"distributed-lock", model::Check::G9,
       "a driver's first command may find a stale connection"},
      {"document-level", model::Check::G7,
       "a call that ends while its attempt is out forgets the win; a busy machine's replies are "
       "slow without any fault"},
  };
  return all;
}

}  // namespace leasehold::properties
