#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "model/history.hpp"
#include "properties/plan_generator.hpp"
#include "sim/random.hpp"

namespace leasehold::properties {

/// Generated plans, steered towards situations that no run was in before: each that reached one is
/// kept, and most of the next are changed from one that was. libFuzzer, which would change numbers
/// and not plans, reached fewer situations in the same time than unrelated seeds do.
///
/// Deterministic by its seed and what is added. Not thread-safe.
///
///     GuidedPlans plans({}, 1);
///     const auto plan = plans.next();
///     plans.add(plan, AbstractStates::of(simulated::run(plan).history));
class GuidedPlans {
 public:
  GuidedPlans(PlanLimits limits, std::uint64_t seed);

  [[nodiscard]] sim::Plan next();
  /// What a run of this plan went through.
  void add(const sim::Plan& plan, const std::set<std::uint16_t>& states);

  [[nodiscard]] std::size_t situations() const { return seen_.size(); }
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }

 private:
  struct Kept {
    sim::Plan plan;
    int changed = 0;  ///< how often another was made of it
  };

  [[nodiscard]] sim::Plan drawn();
  [[nodiscard]] const sim::Plan& chosen();
  void change(sim::Plan& plan);
  void move_faults_together(sim::Plan& plan);

  PlanLimits limits_;
  std::uint64_t next_seed_;
  sim::Random random_;
  std::vector<Kept> kept_;
  std::set<std::uint16_t> seen_;
};

}  // namespace leasehold::properties
