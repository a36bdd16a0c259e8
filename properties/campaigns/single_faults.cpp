#include "properties/campaigns/single_faults.hpp"

#include <algorithm>
#include <set>

#include "properties/generation/plan_generator.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::Plan;
using sim::Range;

constexpr std::int64_t kWindow_ms = 400;    ///< faults begin in it
constexpr std::int64_t kFaulty_ms = 1'600;  ///< and those that last have room to
constexpr std::int64_t kLasting_ms = 700;
constexpr std::int64_t kAmount = 350;

constexpr const char* kBasePlans[] = {
    // Some poll,
    R"(seed 11
locks 1
process expiry=500 wait-max=60 hold=6 timeout=800
process expiry=500 wait-max=60 hold=6 timeout=800)",
    // queue,
    R"(seed 12
locks 1
process expiry=500 wait-max=60 hold=6 timeout=800 waiting=queue callers=2
process expiry=500 wait-max=60 hold=6 timeout=800 waiting=queue callers=2)",
    // hold for long,
    R"(seed 13
locks 1
process expiry=500 wait-max=60 hold=6 timeout=800 waiting=adaptive long=60 long-leases=2
process expiry=500 wait-max=60 hold=6 timeout=800 waiting=full-jitter)",
    // longer than they may,
    R"(seed 14
process expiry=500 wait-max=60 hold=60 timeout=800 waiting=decorrelated callers=2 max-holding=40
process expiry=500 wait-max=60 hold=6 timeout=800
process expiry=500 wait-max=60 hold=60 timeout=800 waiting=decorrelated callers=2 max-holding=40)",
    // or by clocks that drift.
    R"(seed 15
process expiry=500 wait-max=60 hold=6 timeout=800 waiting=fixed cancel=30 drift=4000
process expiry=500 wait-max=60 hold=6 timeout=800 waiting=fixed cancel=30 drift=-4000
process expiry=500 wait-max=60 hold=6 timeout=800 waiting=queue)"};

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
  static const auto plans = [] {
    std::vector<Plan> all;
    for (const char* text : kBasePlans) {
      auto& plan = all.emplace_back(sim::plan_from_scn(text));
      plan.faulty_ms = kFaulty_ms;
      plan.ttl_at_once = plan.seed % 2 == 0;
      plan.failed_fetches = 25;
      plan.stray_commands = true;
    }
    return all;
  }();
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
