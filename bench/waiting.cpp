#include <benchmark/benchmark.h>

#include "bench/virtual_load.hpp"

/// The waiting strategies in virtual time: 1 to 1,000 clients, four kinds of holding times, and a
/// thousand that ask at once. Exact: the same figures on every machine.
namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;
using Strategy = std::shared_ptr<const WaitingStrategy>;

void set_counters(benchmark::State& state, const VirtualContention& c, const Contention& m,
                  double seconds) {
  state.counters["share_of_ideal"] = m.acquisitions_per_s * (m.mean_hold_ms + c.write_ms) / 1'000;
  state.counters["commands_per_acq"] =
      static_cast<double>(c.commands) / std::max(m.acquisitions_per_s * seconds, 1.0);
  state.counters["wait_p99_ms"] = m.wait_p99_ms;
  state.counters["wait_max_ms"] = m.wait_max_ms;
  state.counters["jain"] = m.jain;
}

void study(benchmark::State& state, const Strategy& waiting, Holding holding) {
  VirtualLoad load;
  load.waiting = waiting;
  load.holding = holding;
  load.clients = static_cast<int>(state.range(0));
  load.seconds = 40;
  load.measure_from = 20;
  for (auto _ : state) {
    const auto c = contend(load);
    const auto from = static_cast<std::int64_t>((1 + load.measure_from) * 1e9);
    const auto to = static_cast<std::int64_t>((1 + load.seconds) * 1e9);
    set_counters(state, c, measure(c.taken, load.clients, from, to),
                 load.seconds - load.measure_from);
  }
}

void rush(benchmark::State& state, const Strategy& waiting) {
  VirtualLoad load;
  load.waiting = waiting;
  load.clients = 1'000;
  load.times = 1;
  load.seconds = 300;
  load.measure_from = 0;
  for (auto _ : state) {
    const auto c = contend(load);
    const auto m = measure(c.taken, load.clients, 0, static_cast<std::int64_t>(400e9));
    state.counters["served"] = static_cast<double>(c.taken.size());
    state.counters["took_times_ideal"] = c.elapsed_s / (m.mean_hold_ms + c.write_ms);
    state.counters["longest_wait_times_ideal"] =
        m.wait_max_ms / 1'000 / (m.mean_hold_ms + c.write_ms);
    state.counters["attempts_per_served"] = static_cast<double>(c.attempts) / load.clients;
    state.counters["most_attempts_per_s"] = static_cast<double>(c.most_attempts_per_s);
  }
}

void add_all() {
  const std::pair<const char*, Strategy> strategies[] = {
      {"adaptive", adaptive_waiting()},
      {"uniform", uniform_waiting()},
      {"uniform-1-50", uniform_waiting(milliseconds(1), milliseconds(50))},
      {"fixed-100", fixed_waiting(milliseconds(100))},
      {"exponential-full", exponential_waiting(Jitter::full)},
      {"exponential-decorrelated", exponential_waiting(Jitter::decorrelated)},
      {"push", push_waiting()},
  };
  const std::pair<const char*, Holding> holdings[] = {{"constant", Holding::constant},
                                                      {"exponential", Holding::exponential},
                                                      {"heavy_tailed", Holding::heavy_tailed},
                                                      {"bimodal", Holding::bimodal}};
  for (const auto& [name, waiting] : strategies) {
    for (const auto& [of, holding] : holdings) {
      auto* b = benchmark::RegisterBenchmark((std::string(of) + "/" + name).c_str(), study, waiting,
                                             holding);
      b->Iterations(1)->Unit(benchmark::kMillisecond)->Arg(1)->Arg(4)->Arg(16)->Arg(64)->Arg(256);
      if (holding == Holding::constant) b->Arg(1'000);
    }
    benchmark::RegisterBenchmark((std::string("rush/") + name).c_str(), rush, waiting)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace leasehold::bench

int main(int argc, char** argv) {
  leasehold::bench::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
