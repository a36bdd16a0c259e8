#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include "properties/campaigns/campaign.hpp"

/// Every single fault: each kind at each event of a few short runs that have no other fault.
namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::Plan;
using sim::Range;

constexpr std::int64_t kWindow_ms = 400;    ///< faults begin in it
constexpr std::int64_t kFaulty_ms = 1'600;  ///< and those that last have room to
constexpr std::int64_t kLasting_ms = 700;
constexpr std::int64_t kAmount = 350;

/// Short plans without faults, each with another side of the lock at work.
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
  const bool both_ways = ranges.amount.low < 0;
  FaultPlan f{.kind = kind,
              .at_ms = at_ms,
              .for_ms = within(ranges.for_ms, kLasting_ms),
              .pick = number,
              .amount = within(ranges.amount, both_ways ? ranges.amount.high : kAmount)};
  if (both_ways && number / 2 % 2 != 0) f.amount = -f.amount;
  return f;
}

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

/// The milliseconds, from the processes' start, in which an event happens in a run of the plan, and
/// those after: a fault at one of them falls before or after each event, as far as a plan can tell
/// times apart.
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

/// Each base plan with each kind of fault at each of its times; only every `every`-th of them.
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

/// What a run did not keep, but for what it never put to the test.
std::string broken_in(const Simulated& one) {
  std::string broken;
  for (const auto& f : one.judgement.findings) {
    if (f.verdict == model::Verdict::holds || f.never_tested()) continue;
    broken += std::string("# ") + to_string(f.check) + ": " + f.why + '\n';
  }
  return broken;
}

/// All of them with --long; else each of a few hundred parts, another kind and time each.
TEST(SingleFaults, NoneBreaksAGuaranteeAtAnyEvent) {
  constexpr std::size_t kUsually = 127;
  const bool all = std::getenv("LEASEHOLD_LONG") != nullptr;
  const auto plans = single_fault_plans(all ? 1 : kUsually);
  SimulateReport report;
  std::vector<std::string> failed;  // what they broke, and the plans
  std::mutex mutex;
  on_all_cores(plans.size(), [&](std::uint64_t i) {
    const auto one = simulate(plans[i]);
    const auto broken = broken_in(one);
    const SimulateReport of_one(i, plans[i], one, false);
    const std::scoped_lock lock(mutex);
    report.add(of_one);
    if (!broken.empty()) failed.push_back(broken + sim::to_scn(plans[i]));
    return true;
  });
  std::printf("%zu runs\n", plans.size());
  for (const auto& [kind, runs] : report.enabled) {
    const auto felt = report.bit[kind];
    std::printf("%8lld runs, took effect in %lld: %s\n", static_cast<long long>(runs),
                static_cast<long long>(felt), kind.c_str());
    EXPECT_GE(felt * 3, runs) << kind << " took effect in fewer than a third of its runs";
  }
  EXPECT_EQ(report.enabled.size(), sim::fault_kinds(sim::Harm::alone).size());
  EXPECT_TRUE(failed.empty()) << failed.size() << " broke something; the first:\n" << failed[0];
}

}  // namespace
}  // namespace leasehold::properties
