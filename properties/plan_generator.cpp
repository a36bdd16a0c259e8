#include "properties/plan_generator.hpp"

#include <algorithm>

#include "properties/ranges.hpp"
#include "sim/random.hpp"

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::ProcessPlan;
using Kind = FaultPlan::Kind;

class Reader {
 public:
  explicit Reader(const Numbers& numbers) : numbers_(numbers) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t number = at_ < numbers_.size() ? numbers_[at_++] : 0;
    return low + static_cast<std::int64_t>(number % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) >= 100 - percent; }

 private:
  const Numbers& numbers_;
  std::size_t at_ = 0;
};

ProcessPlan read_process(Reader& in, bool drifts) {
  ProcessPlan p;
  p.expiry_ms = in.between(0, 3) == 3 ? in.between(1'200, 3'000) : in.between(300, 1'200);
  p.wait_min_ms = in.between(1, 10);
  p.wait_max_ms = p.wait_min_ms + in.between(10, 300);
  p.hold_ms = in.between(1, 12);
  // Of long leases few, so that every run has its acquisitions.
  const bool often = in.between(0, 2) == 2 && p.expiry_ms <= 1'200;
  p.long_hold_percent = static_cast<int>(often ? in.between(8, 20) : in.between(2, 6));
  p.single_attempt_percent = static_cast<int>(in.between(0, 20));
  p.cancel_percent = static_cast<int>(in.between(0, 10));
  p.acquire_timeout_ms = in.between(300, 4'000);
  if (drifts) p.drift_ppm = in.between(0, 8'000) - 4'000;  // within max_drift, 5,000
  p.waiting = static_cast<sim::Waiting>(in.between(0, sim::kWaitings - 1));
  p.callers = static_cast<int>(std::max<std::int64_t>(in.between(0, 4), 1));
  p.hand_overs = in.chance(30) ? static_cast<int>(in.between(0, 2)) : p.hand_overs;
  return p;
}

/// From here on kinds are read last, so that what else a seed stands for stays as it was.
constexpr int kReadLast = static_cast<int>(Kind::wall_clock) + 1;

/// Faults of one kind, and how long or large they are.
void read_fault(Reader& in, sim::Plan& plan, Kind kind) {
  FaultPlan f;
  f.kind = kind;
  f.at_ms = in.between(100, plan.faulty_ms - 200);
  f.pick = in.between(0, 1'000);
  const auto draw = [&in](const Range& r) {
    return r.low == r.high ? r.low : r.low + in.between(0, r.high - r.low);
  };
  const auto ranges = ranges_of(kind, plan.clock_margin_ms);
  f.for_ms = draw(ranges.for_ms);
  f.amount = draw(ranges.amount);
  plan.faults.push_back(f);
}

void read_kind(Reader& in, sim::Plan& plan, Kind kind, const DrawnLimits& limits) {
  const bool drawn = in.chance(35) && sim::harm_of(kind) == sim::Harm::none;
  const bool wanted = limits.only ? *limits.only == kind : drawn;
  if (!wanted || limits.no_faults) return;
  const auto count = in.between(1, 4);
  for (std::int64_t i = 0; i < count; ++i) read_fault(in, plan, kind);
}

/// Of all plans. Only while no server is disturbed has a dead holder's lock to pass on in time.
constexpr int kHealthyPercent = 15;

/// Leaves out what disturbs servers or links, and has holders die.
void read_healthy(Reader& in, sim::Plan& plan) {
  std::erase_if(plan.faults, [](const FaultPlan& f) {
    return f.kind != Kind::crash && f.kind != Kind::pause && f.kind != Kind::suspend;
  });
  const auto count = in.between(2, 5);
  for (std::int64_t i = 0; i < count; ++i) read_fault(in, plan, Kind::crash);
}

}  // namespace

sim::Plan plan_from(const Numbers& numbers, const DrawnLimits& limits) {
  Reader in(numbers);
  sim::Plan plan;
  plan.lock = limits.lock;
  plan.seed = static_cast<std::uint64_t>(in.between(0, 1'000'000'000));
  plan.faulty_ms = limits.faulty_ms;
  plan.locks = static_cast<int>(in.between(1, limits.locks));
  plan.clock_margin_ms = in.between(200, 2'000);
  const auto processes = in.between(2, limits.processes);
  const bool drifts = in.chance(50);
  for (std::int64_t i = 0; i < processes; ++i) plan.processes.push_back(read_process(in, drifts));
  for (int k = 0; k < kReadLast; ++k) read_kind(in, plan, static_cast<Kind>(k), limits);
  for (auto& p : plan.processes) {
    p.long_hold_leases = long_hold_leases(limits.lock);
    if (in.chance(25)) p.max_holding_ms = in.between(50, p.expiry_ms);
  }
  for (int k = kReadLast; k < sim::kFaultKinds; ++k) {
    read_kind(in, plan, static_cast<Kind>(k), limits);
  }
  if (!limits.only && !limits.no_faults && in.chance(kHealthyPercent)) read_healthy(in, plan);
  std::stable_sort(plan.faults.begin(), plan.faults.end(),
                   [](const FaultPlan& a, const FaultPlan& b) { return a.at_ms < b.at_ms; });
  return plan;
}

Numbers numbers_of(std::uint64_t seed) {
  constexpr std::size_t kEnough = 400;
  sim::Random random(seed);
  Numbers numbers(kEnough);
  for (auto& n : numbers) n = static_cast<std::uint32_t>(random.draw());
  return numbers;
}

}  // namespace leasehold::properties
