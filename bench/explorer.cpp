#include <benchmark/benchmark.h>

#include "bench/small_protocol.hpp"

namespace leasehold::bench {
namespace {

/// States per CPU second and bytes per state of the explorer on the small protocol.
void explore(benchmark::State& run) {
  const SmallProtocol protocol{.clients = static_cast<int>(run.range(0)),
                               .last_tick = static_cast<int>(run.range(1)),
                               .last_token = static_cast<int>(run.range(2))};
  std::uint64_t states = 0, bytes = 0;
  for (auto _ : run) {
    const auto found = model::Explorer<SmallProtocol>(protocol).run();
    states += found.states;
    bytes = found.bytes / found.states;
  }
  run.counters["states_per_cpu_second"] =
      benchmark::Counter(static_cast<double>(states), benchmark::Counter::kIsRate);
  run.counters["bytes_per_state"] = static_cast<double>(bytes);
}
BENCHMARK(explore)->Args({3, 10, 8})->Args({4, 8, 6})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
