/// Waiting strategies under contention: for each strategy, number of clients and holding time one
/// benchmark, in virtual time and on a real replica set. Its time is the measured time divided by
/// the acquisitions of all clients together, so less is better; the counters say what that cost.
///
///     bench_contention --benchmark_filter=virtual/.*/clients:16 --benchmark_out=now.json
///
/// A repetition takes the next seed, and the same seed for each strategy. Open loops, skewed locks,
/// processes and raw samples are `leasehold-bench contend`'s, which runs the same code.
#include <benchmark/benchmark.h>

#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "bench/boot_clock.hpp"
#include "bench/contend/figures.hpp"
#include "bench/contend/live/live_run.hpp"
#include "bench/contend/live/worker.hpp"
#include "bench/contend/virtual_run.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace leasehold::bench {
namespace {

struct Situation {
  std::string strategy;
  int clients = 0, hold_ms = 0;
};

Load load_of(const Situation& s, std::uint64_t seed) {
  Load load;
  load.strategy = s.strategy;
  load.clients = s.clients;
  load.hold = "constant:" + std::to_string(s.hold_ms) + "ms";
  load.seed = seed;
  load.measured_ms = 5'000;
  return load;
}

/// The servers of all live benchmarks, started with the first.
Servers& servers() {
  static Servers started("", {});
  return started;
}

void run_one(benchmark::State& state, const Situation& situation, bool live,
             std::uint64_t& repetition) {
  for (auto _ : state) {
    const Load load = load_of(situation, ++repetition);
    try {
      auto result =
          live ? run_live(load, false, servers(), "leasehold_bench_" + std::to_string(boot_ns()))
               : run_virtual(load);
      const auto f = figures_of(result, load);
      state.SetIterationTime(f.seconds_per_acquisition);
      state.counters["share_of_ideal"] = f.share_of_ideal;
      state.counters["commands"] = f.commands;
      state.counters["wait_p50_ms"] = f.wait_p50_ms;
      state.counters["wait_p99_ms"] = f.wait_p99_ms;
      state.counters["jain"] = f.jain;
      if (f.server_cpu_ms >= 0) state.counters["server_cpu_ms"] = f.server_cpu_ms;
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
    }
  }
}

void add(const Situation& s, bool live) {
  const std::string name = std::string(live ? "live/" : "virtual/") + s.strategy +
                           "/clients:" + std::to_string(s.clients) +
                           "/hold_ms:" + std::to_string(s.hold_ms);
  const auto repetition = std::make_shared<std::uint64_t>(0);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [s, live, repetition](benchmark::State& state) { run_one(state, s, live, *repetition); })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void add_all() {
  for (const bool live : {false, true}) {
    for (const int hold_ms : {5, 100}) {
      for (const int clients : {2, 16, 64}) {
        for (const char* strategy : {"uniform", "adaptive", "queue"}) {
          add({strategy, clients, hold_ms}, live);
        }
      }
    }
  }
}

}  // namespace
}  // namespace leasehold::bench

int main(int argc, char** argv) {
  using namespace leasehold;
  sim::live::init_driver();
  if (argc == 3 && std::strcmp(argv[1], "client") == 0) {  // the clients of a live run
    return bench::run_worker(argv[2], std::cin, std::cout);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  bench::add_all();
  return benchmark::RunSpecifiedBenchmarks() == 0 ? 69 : 0;
}
