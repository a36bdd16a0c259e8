#include "properties/plans.hpp"

#include <algorithm>

#include "properties/ranges.hpp"

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::Plan;
using sim::ProcessPlan;

// RapidCheck scales ranges with its size; a live run is too dear to be small.
constexpr int kFullSize = 100;

template <typename T>
T between(T low, T high) {
  return *rc::gen::resize(kFullSize, rc::gen::inRange<T>(low, static_cast<T>(high + 1)));
}

ProcessPlan draw_process(const std::string& lock) {
  ProcessPlan p;
  // Mostly short leases: a run sees more of them end.
  p.expiry_ms =
      between(1, 4) == 1 ? between<std::int64_t>(1'500, 3'000) : between<std::int64_t>(300, 1'500);
  p.wait_min_ms = between<std::int64_t>(1, 10);
  p.wait_max_ms = *rc::gen::element<std::int64_t>(60, 120, 200, 400);
  p.hold_ms = between<std::int64_t>(1, 6);
  p.long_hold_percent = between(3, 4);
  p.long_hold_leases = long_hold_leases(lock);
  p.single_attempt_percent = between(0, 20);
  p.cancel_percent = between(0, 10);
  p.acquire_timeout_ms = between<std::int64_t>(300, 4'000);
  p.drift_ppm = between<std::int64_t>(-4'000, 4'000);  // within max_drift, 5,000
  p.waiting = static_cast<sim::Waiting>(between(0, sim::kWaitings - 1));
  p.callers = *rc::gen::element(1, 1, 2, 3);
  p.hand_overs = *rc::gen::element(0, 1, 8, 8);
  // Shorter than its long holdings, often.
  if (between(1, 4) == 1) p.max_holding_ms = between<std::int64_t>(50, p.expiry_ms);
  return p;
}

/// About one fault of this kind in so many ms.
std::int64_t interval_ms(FaultPlan::Kind kind, int locks) {
  using K = FaultPlan::Kind;
  if (sim::about(kind).stops_writes) return 15'000;
  switch (kind) {
    // Each costs its lock about a lease; a lock is to be at work most of the time.
    case K::crash:
    case K::pause: return between<std::int64_t>(5'000, 8'000) / locks;
    case K::step_up: return between<std::int64_t>(4'000, 7'000);
    case K::clock_jump: return 4'000;
    case K::clock_drift:
    case K::waiting_inside: return 9'000;
    case K::wall_clock: return 15'000;
    default: return 5'000;
  }
}

void draw_faults(Plan& plan, FaultPlan::Kind kind) {
  // Half of them in each case, so that locks are at work most of the time. Two primaries always:
  // other faults of the moment often prevent the election.
  const bool always = !sim::about(kind).stops_writes || kind == FaultPlan::Kind::two_primaries;
  if (!always && between(1, 2) == 1) return;
  const auto count = std::max<std::int64_t>(plan.faulty_ms / interval_ms(kind, plan.locks), 1);
  const auto ranges = ranges_of(kind, plan.clock_margin_ms);
  for (std::int64_t i = 0; i < count; ++i) {
    FaultPlan f;
    f.kind = kind;
    f.at_ms = between<std::int64_t>(500, std::max<std::int64_t>(plan.faulty_ms - 500, 501));
    f.pick = between<std::int64_t>(0, 1'000'000);
    f.for_ms = between(ranges.for_ms.low, ranges.for_ms.high);
    f.amount = between(ranges.amount.low, ranges.amount.high);
    if (kind == FaultPlan::Kind::pause) f.for_ms = between<std::int64_t>(1'200, 4'500);
    plan.faults.push_back(f);
  }
}

}  // namespace

rc::Gen<Plan> plans(PlanLimits limits) {
  return rc::gen::exec([limits] {
    Plan plan;
    plan.seed = *rc::gen::arbitrary<std::uint32_t>();
    plan.lock = limits.lock;
    plan.faulty_ms = limits.faulty_ms;
    plan.locks = limits.locks.value_or(between(2, 8));
    plan.clock_margin_ms = between(1, 5) == 1 ? between<std::int64_t>(2'000, 10'000)
                                              : between<std::int64_t>(500, 2'000);
    const int processes = limits.processes.value_or(between(4, 32));
    for (int i = 0; i < processes; ++i) plan.processes.push_back(draw_process(limits.lock));
    for (const auto kind : sim::fault_kinds(sim::Harm::none)) {
      if (limits.groups.contains(sim::group_of(kind))) draw_faults(plan, kind);
    }
    // Left out, not undrawn: the rest of the plan is the same on anybody's servers.
    if (!limits.own_servers) {
      std::erase_if(plan.faults, [](const FaultPlan& f) { return !sim::hits_process(f.kind); });
    }
    std::stable_sort(plan.faults.begin(), plan.faults.end(),
                     [](const FaultPlan& a, const FaultPlan& b) { return a.at_ms < b.at_ms; });
    return plan;
  });
}

Plan draw_plan(std::uint64_t seed, const PlanLimits& limits) {
  return plans(limits)(rc::Random(seed), kFullSize).value();
}

}  // namespace leasehold::properties
