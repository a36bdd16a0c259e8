#include <benchmark/benchmark.h>

#include <ctime>

#include "bench/small_protocol.hpp"
#include "bench/spin.hpp"

namespace leasehold::bench {
namespace {

/// States per CPU second and bytes per state of the explorer on the small protocol, and the ratio
/// to Spin on the same protocol, measured between the same two moments.
void explore(benchmark::State& run, const char* verifier) {
  const SmallProtocol protocol{.clients = static_cast<int>(run.range(0)),
                               .last_tick = static_cast<int>(run.range(1)),
                               .last_token = static_cast<int>(run.range(2))};
  double ours = 0, spins = 0, rounds = 0;
  std::uint64_t bytes = 0;
  for (auto _ : run) {
    const std::clock_t began = std::clock();
    const auto found = model::Explorer<SmallProtocol>(protocol).run();
    const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    ours += static_cast<double>(found.states) / seconds;
    bytes = found.bytes / found.states;
    const auto spin = run_spin(verifier);
    if (spin.states != found.states) run.SkipWithError("Spin counts other states");
    spins += static_cast<double>(spin.states) / spin.cpu_seconds;
    ++rounds;
  }
  run.counters["states_per_cpu_second"] = ours / rounds;
  run.counters["spin_states_per_cpu_second"] = spins / rounds;
  run.counters["times_spin"] = ours / spins;
  run.counters["bytes_per_state"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(explore, three, LEASEHOLD_SPIN_THREE)
    ->Args({3, 10, 8})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(explore, four, LEASEHOLD_SPIN_FOUR)
    ->Args({4, 8, 6})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
