/// Waiting strategies under contention: for each strategy, number of clients and holding time one
/// benchmark, in virtual time and on a real replica set. Its time is the measured time divided by
/// the acquisitions of all clients together, so less is better; the counters say what that cost.
///
///     bench_contention --benchmark_filter=virtual/.*/clients:16 --benchmark_out=now.json
///
/// A repetition takes the next seed, and the same seed for each strategy. It is `leasehold-bench
/// contend` that runs, and bench/stats.py that has the figures.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/live/system/child_process.hpp"

namespace leasehold::bench {
namespace {

/// What one run's figures are.
nlohmann::json figures_of(const std::string& strategy, const std::string& options) {
  const sim::live::Janitor temporary;
  const auto& folder = temporary.folder();
  const auto command = sim::live::beside_this_program("leasehold-bench") + " contend --strategy " +
                       strategy + options + " --repetitions 1 --seconds 5 --out " + folder +
                       " >" + folder + "/said 2>&1 && " LEASEHOLD_BENCH_STATS " " + folder +
                       " --json " + folder + "/figures >>" + folder + "/said 2>&1";
  if (std::system(command.c_str()) != 0) {
    std::ifstream said(folder + "/said");
    throw std::runtime_error(std::string(std::istreambuf_iterator<char>(said), {}));
  }
  std::ifstream figures(folder + "/figures");
  return nlohmann::json::parse(figures)["figures"][strategy]["1"];
}

/// Each repetition has a seed of its own.
void run_one(benchmark::State& state, const std::string& world, const std::string& strategy) {
  static std::map<std::string, int> repetitions;
  const auto options = " --world " + world + " --clients " + std::to_string(state.range(0)) +
                       " --hold constant:" + std::to_string(state.range(1)) + "ms";
  for (auto _ : state) {
    try {
      const auto seed = std::to_string(++repetitions[strategy + options]);
      const auto f = figures_of(strategy, options + " --seed " + seed);
      state.SetIterationTime(1 / f["acq_per_s"].get<double>());
      for (const auto& [counter, figure] : {std::pair("share_of_ideal", "share_of_ideal"),
                                            {"commands", "commands_per_acq"},
                                            {"wait_p50_ms", "wait_p50_ms"},
                                            {"wait_p99_ms", "wait_p99_ms"},
                                            {"jain", "jain"},
                                            {"server_cpu_ms", "server_cpu_ms_per_acq"}}) {
        if (f.contains(figure)) state.counters[counter] = f[figure].get<double>();
      }
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
    }
  }
}

}  // namespace
}  // namespace leasehold::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  for (const std::string world : {"virtual", "live"}) {
    for (const std::string strategy : {"uniform", "adaptive", "queue"}) {
      const auto run = [=](auto& state) { leasehold::bench::run_one(state, world, strategy); };
      benchmark::RegisterBenchmark((world + "/" + strategy).c_str(), run)
          ->ArgNames({"clients", "hold_ms"})
          ->ArgsProduct({{2, 16, 64}, {5, 100}})
          ->Iterations(1)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  return benchmark::RunSpecifiedBenchmarks() == 0 ? 69 : 0;
}
