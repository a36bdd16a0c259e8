#include <benchmark/benchmark.h>

#include <time.h>

#include "bench/small_protocol.hpp"
#include "bench/spin.hpp"

namespace leasehold::bench {
namespace {

double monotonic_seconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// States per CPU second and bytes per state of the explorer on the small protocol, and the ratio
/// to Spin on the same protocol with a table of as many slots, between the same two moments.
void explore(benchmark::State& run, const char* verifier) {
  const SmallProtocol protocol{.clients = static_cast<int>(run.range(0)),
                               .last_tick = static_cast<int>(run.range(1)),
                               .last_token = static_cast<int>(run.range(2))};
  const int table_bits = static_cast<int>(run.range(3));
  const model::ExploreOptions how{.threads = static_cast<unsigned>(run.range(4)),
                                  .slots = std::uint64_t{1} << table_bits};
  double ours = 0, spins = 0, wall = 0, rounds = 0;
  std::uint64_t bytes = 0;
  for (auto _ : run) {
    const double began = monotonic_seconds();
    const auto found = model::Explorer<SmallProtocol>(protocol, how).run();
    const double took = monotonic_seconds() - began;
    const auto states = static_cast<double>(found.states);
    ours += states / found.cpu_seconds;
    wall += states / took;
    bytes = found.bytes / found.states;
    const auto spin = run_spin(verifier, table_bits);
    if (spin.states != found.states) run.SkipWithError("Spin counts other states");
    spins += static_cast<double>(spin.states) / spin.cpu_seconds;
    ++rounds;
  }
  run.counters["states_per_cpu_second"] = ours / rounds;
  run.counters["states_per_second"] = wall / rounds;
  run.counters["spin_states_per_cpu_second"] = spins / rounds;
  run.counters["times_spin"] = ours / spins;
  run.counters["bytes_per_state"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(explore, three, LEASEHOLD_SPIN_THREE)
    ->ArgNames({"clients", "ticks", "tokens", "table_bits", "threads"})
    ->Args({3, 10, 8, 24, 1})
    ->Args({3, 10, 8, 24, 2})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(explore, four, LEASEHOLD_SPIN_FOUR)
    ->ArgNames({"clients", "ticks", "tokens", "table_bits", "threads"})
    ->Args({4, 8, 6, 23, 1})
    ->Args({4, 8, 6, 23, 2})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
