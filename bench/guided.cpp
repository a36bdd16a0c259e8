#include <benchmark/benchmark.h>

#include <ctime>

#include "properties/guided/abstract_states.hpp"
#include "properties/guided/guided_plans.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::bench {
namespace {

using properties::AbstractStates;
using properties::GuidedPlans;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

properties::PlanLimits all_strategies() {
  properties::PlanLimits limits;
  limits.waitings.clear();
  for (int w = 0; w < sim::kWaitings; ++w) limits.waitings.push_back(static_cast<sim::Waiting>(w));
  return limits;
}

/// How many situations runs reach in so many CPU seconds: guided, or of one seed after another.
void situations(benchmark::State& run, bool guided) {
  const auto limits = all_strategies();
  const auto first = static_cast<std::uint64_t>(run.range(1));
  for (auto _ : run) {
    GuidedPlans plans(limits, first);
    std::uint64_t runs = 0;
    const auto until = cpu_seconds() + static_cast<double>(run.range(0));
    while (cpu_seconds() < until) {
      const auto plan = guided ? plans.next() : properties::draw_plan(first + runs, limits);
      plans.add(plan, AbstractStates::of(sim::simulated::run(plan).history));
      ++runs;
    }
    run.counters["situations"] = static_cast<double>(plans.situations());
    run.counters["runs"] = static_cast<double>(runs);
  }
}

void three_starts(benchmark::internal::Benchmark* one) {
  for (const std::int64_t first : {1, 100'001, 200'001}) one->Args({60, first});
  one->ArgNames({"cpu_s", "first_seed"})->Iterations(1)->Unit(benchmark::kSecond);
}
BENCHMARK_CAPTURE(situations, guided, true)->Apply(three_starts);
BENCHMARK_CAPTURE(situations, blind, false)->Apply(three_starts);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
