#include "properties/guided/guided_plans.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::properties {
namespace {

constexpr std::size_t kFirst = 20;  ///< that many plans are kept before any is changed
constexpr std::int64_t kDrawnPercent = 10;  ///< of the later ones, so that it is not all one family
constexpr int kCandidates = 4;
constexpr int kMoves = 3;
constexpr std::int64_t kTogether_ms = 200;

template <typename T>
T& any(std::vector<T>& of, sim::Random& random) {
  return of[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(of.size()) - 1))];
}

}  // namespace

GuidedPlans::GuidedPlans(PlanLimits limits, std::uint64_t seed)
    : limits_(std::move(limits)), next_seed_(seed), random_(seed) {}

sim::Plan GuidedPlans::next() {
  if (kept_.size() < kFirst || random_.chance(kDrawnPercent)) return drawn();
  sim::Plan plan = chosen();
  change(plan);
  plan.seed = random_.draw();
  std::stable_sort(plan.faults.begin(), plan.faults.end(),
                   [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  // It may name a process that the other processes have no place for.
  return unsound(plan).empty() ? plan : drawn();
}

void GuidedPlans::add(const sim::Plan& plan, const std::set<std::uint16_t>& states) {
  const auto before = seen_.size();
  seen_.insert(states.begin(), states.end());
  if (seen_.size() > before) kept_.push_back({plan});
}

sim::Plan GuidedPlans::drawn() { return draw_plan(next_seed_++, limits_); }

/// Of a few the one that was changed least.
const sim::Plan& GuidedPlans::chosen() {
  Kept* best = &any(kept_, random_);
  for (int i = 1; i < kCandidates; ++i) {
    Kept& other = any(kept_, random_);
    if (other.changed < best->changed) best = &other;
  }
  ++best->changed;
  return best->plan;
}

/// One thing is changed, and the rest stays.
void GuidedPlans::change(sim::Plan& plan) {
  const sim::Plan other = drawn();
  switch (random_.between(0, 4)) {
    case 0:
      for (const auto& fault : other.faults) {
        if (random_.chance(50)) plan.faults.push_back(fault);
      }
      return;
    case 1:
      for (auto& fault : plan.faults) {
        if (random_.chance(33)) fault.at_ms = random_.between(0, plan.faulty_ms);
      }
      return;
    case 2: plan.processes = other.processes; return;
    case 3: plan.faults = other.faults; return;
    default: return move_faults_together(plan);
  }
}

void GuidedPlans::move_faults_together(sim::Plan& plan) {
  if (plan.faults.empty()) return;
  for (int i = 0; i < kMoves; ++i) {
    const auto at = any(plan.faults, random_).at_ms;
    any(plan.faults, random_).at_ms =
        std::max<std::int64_t>(at + random_.between(-kTogether_ms, kTogether_ms), 0);
  }
}

}  // namespace leasehold::properties
