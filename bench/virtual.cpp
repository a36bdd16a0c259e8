#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "bench/busy_plan.hpp"
#include "model/verdict/checkers.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::bench {
namespace {

using sim::simulated::EventQueue;

/// The event loop alone: processes that do nothing but wait again.
void idle_processes(benchmark::State& run) {
  constexpr int kEvents = 1'000'000;
  for (auto _ : run) {
    EventQueue queue;
    struct Idle {
      EventQueue& queue;
      std::int64_t pause;
      void wake() {
        queue.after(pause, [this] { wake(); });
      }
    };
    std::vector<std::unique_ptr<Idle>> idle;
    for (std::int64_t i = 0; i < run.range(0); ++i) {
      idle.push_back(std::make_unique<Idle>(Idle{queue, 1'000 + 7 * i}));
      idle.back()->wake();
    }
    for (int i = 0; i < kEvents; ++i) queue.step();
  }
  run.counters["events_per_cpu_second"] =
      benchmark::Counter(kEvents, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(idle_processes)->Arg(8)->Arg(1'000)->Unit(benchmark::kMillisecond);

/// The whole world: busy plans with faults, run, and checked or not.
void busy_plans(benchmark::State& run, bool checked) {
  std::uint64_t seed = 0, events = 0;
  std::int64_t acquisitions = 0;
  double virtual_s = 0;
  for (auto _ : run) {
    const auto plan = busy_plan(++seed, 6'000, true);
    auto one = sim::simulated::run(plan);
    events += one.events;
    virtual_s += static_cast<double>(one.elapsed_ns) * 1e-9;
    for (const auto& e : one.history) acquisitions += e.kind == model::Kind::granted ? 1 : 0;
    if (!checked) continue;
    const auto digest = model::digest(one.history);
    benchmark::DoNotOptimize(model::judge(digest, {}));
  }
  using benchmark::Counter;
  run.counters["events_per_cpu_second"] = Counter(static_cast<double>(events), Counter::kIsRate);
  run.counters["lifecycles_per_cpu_second"] =
      Counter(static_cast<double>(acquisitions), Counter::kIsRate);
  run.counters["virtual_seconds_per_cpu_second"] = Counter(virtual_s, Counter::kIsRate);
}
BENCHMARK_CAPTURE(busy_plans, run_only, false)->Iterations(100)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(busy_plans, run_and_judged, true)->Iterations(100)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
