#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/busy_plan.hpp"
#include "model/checkers.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::bench {
namespace {

/// A history of at least this many operations: acquires, extensions, releases, failed attempts,
/// unknown outcomes and expiries.
model::History history_of(std::int64_t operations) {
  for (std::int64_t faulty_ms = 1'000;;) {
    auto history = sim::simulated::run(busy_plan(1, faulty_ms, true)).history;
    const auto sent = std::count_if(history.begin(), history.end(), [](const model::Event& e) {
      return e.kind == model::Kind::send;
    });
    if (sent >= operations) return history;
    faulty_ms = faulty_ms * operations / std::max<std::int64_t>(sent, 1) * 11 / 10 + 100;
  }
}

/// Time to check a history that is read: all guarantees, and the form.
void judge_history(benchmark::State& run) {
  const auto history = history_of(run.range(0));
  for (auto _ : run) benchmark::DoNotOptimize(model::judge(history, {}));
  run.counters["events"] = static_cast<double>(history.size());
  run.counters["ns_per_operation"] = benchmark::Counter(
      static_cast<double>(run.range(0)) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(judge_history)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
