#include "properties/campaigns/single_faults.hpp"

#include <algorithm>
#include <set>

#include "properties/generation/ranges.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::Plan;
using sim::ProcessPlan;
using sim::Waiting;

constexpr std::int64_t kWindow_ms = 400;    ///< faults begin in it
constexpr std::int64_t kFaulty_ms = 1'600;  ///< and those that last have room to
constexpr std::int64_t kLasting_ms = 700;
constexpr std::int64_t kAmount = 350;

ProcessPlan process(Waiting waiting, int callers) {
  ProcessPlan p;
  p.expiry_ms = 500;
  p.wait_max_ms = 60;
  p.hold_ms = 6;
  p.waiting = waiting;
  p.callers = callers;
  p.acquire_timeout_ms = 800;
  return p;
}

Plan base(std::uint64_t seed, int locks, std::vector<ProcessPlan> processes) {
  Plan plan;
  plan.seed = seed;
  plan.locks = locks;
  plan.faulty_ms = kFaulty_ms;
  plan.ttl_at_once = seed % 2 == 0;
  plan.failed_fetches = 25;
  plan.stray_commands = true;
  plan.processes = std::move(processes);
  return plan;
}

std::vector<Plan> make_base_plans() {
  const auto with = [](ProcessPlan p, auto change) {
    change(p);
    return p;
  };
  const auto long_holder = with(process(Waiting::adaptive, 1), [](ProcessPlan& p) {
    p.long_hold_percent = 60;
    p.long_hold_leases = 2;
  });
  const auto ended = with(process(Waiting::decorrelated, 2), [](ProcessPlan& p) {
    p.max_holding_ms = 40;
    p.hold_ms = 60;
  });
  const auto fast = with(process(Waiting::fixed, 1), [](ProcessPlan& p) {
    p.drift_ppm = 4'000;
    p.cancel_percent = 30;
  });
  const auto slow = with(fast, [](ProcessPlan& p) { p.drift_ppm = -4'000; });
  return {base(11, 1, {process(Waiting::uniform, 1), process(Waiting::uniform, 1)}),
          base(12, 1, {process(Waiting::queue, 2), process(Waiting::queue, 2)}),
          base(13, 1, {long_holder, process(Waiting::full_jitter, 1)}),
          base(14, 2, {ended, process(Waiting::uniform, 1), ended}),
          base(15, 2, {fast, slow, process(Waiting::queue, 1)})};
}

/// Time and size are of the kind's own range. What it hits, and whether a clock goes forward or
/// back, changes from one fault to the next.
FaultPlan fault(FaultPlan::Kind kind, std::int64_t at_ms, std::int64_t number,
                std::int64_t clock_margin_ms) {
  const auto ranges = ranges_of(kind, clock_margin_ms);
  const auto within = [](const Range& range, std::int64_t wanted) {
    return std::clamp(wanted, range.low, range.high);
  };
  FaultPlan f;
  f.kind = kind;
  f.at_ms = at_ms;
  f.pick = number;
  f.for_ms = within(ranges.for_ms, kLasting_ms);
  const bool both_ways = ranges.amount.low < 0;
  f.amount = within(ranges.amount, both_ways ? ranges.amount.high : kAmount);
  if (both_ways && number / 2 % 2 != 0) f.amount = -f.amount;
  return f;
}

}  // namespace

const std::vector<Plan>& base_plans() {
  static const std::vector<Plan> plans = make_base_plans();
  return plans;
}

std::vector<std::int64_t> event_times_ms(const Plan& plan) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const auto history = sim::simulated::run(plan).history;
  const auto start = std::find_if(history.begin(), history.end(), [](const model::Event& e) {
    return e.kind == model::Kind::start;
  });
  std::set<std::int64_t> times;
  for (auto e = start; e != history.end(); ++e) {
    const auto ms = (e->at_ns - start->at_ns) / kNsPerMs;
    if (ms < kWindow_ms) times.insert({ms, ms + 1});
  }
  return {times.begin(), times.end()};
}

std::vector<Plan> single_fault_plans(std::size_t every) {
  std::vector<Plan> plans;
  std::size_t number = 0;
  for (const Plan& without : base_plans()) {
    const auto times = event_times_ms(without);
    for (const auto kind : sim::fault_kinds(sim::Harm::alone)) {
      for (std::size_t i = 0; i < times.size(); ++i) {
        if (number++ % every != 0) continue;
        plans.push_back(without);
        auto& plan = plans.back();
        plan.faults = {
            fault(kind, times[i], static_cast<std::int64_t>(i), without.clock_margin_ms)};
        plan.faulty_ms = std::max(plan.faulty_ms, times[i] + plan.faults[0].for_ms + 1);
      }
    }
  }
  return plans;
}

}  // namespace leasehold::properties
