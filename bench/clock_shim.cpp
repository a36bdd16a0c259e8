#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "sim/live/servers/mongod.hpp"

/// The cost of the preloaded clock for a mongod: the same command on two, one with and one without
/// it, in turns, so that both meet the same noise.
namespace {

using namespace leasehold::sim::live;
using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

double one_command(Mongod& mongod) {
  const auto began = Clock::now();
  mongod.client().must("bench", {{"findAndModify", "locks"},
                                 {"query", {{"_id", "lock"}}},
                                 {"update", Json::array({{{"$set", {{"now", "$$NOW"}}}}})},
                                 {"upsert", true},
                                 {"new", true}});
  return Microseconds(Clock::now() - began).count();
}

double quantile(std::vector<double>& times, double q) {
  const auto at =
      times.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(times.size() - 1) * q);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

void clock_shim(benchmark::State& state) {
  init_driver();
  Janitor janitor;
  const auto ports = free_ports(2);
  const auto start = [&](std::size_t i) {
    return Mongod({.program = find_mongod(),
                   .data = janitor.folder() + "/" + std::to_string(ports[i]),
                   .port = ports[i],
                   .standalone = true,
                   .own_clock = i == 1},
                  janitor);
  };
  Mongod without = start(0), with = start(1);
  for (auto* m : {&without, &with}) m->wait_until_ready();
  with.clock().set(std::chrono::seconds(30));
  std::vector<double> times_with, times_without;
  for (auto _ : state) {
    times_without.push_back(one_command(without));
    times_with.push_back(one_command(with));
  }
  for (const double q : {0.5, 0.99}) {
    const auto name = q < 0.9 ? std::string("p50") : std::string("p99");
    const double plain = quantile(times_without, q), preloaded = quantile(times_with, q);
    state.counters[name + "_us"] = plain;
    state.counters[name + "_ratio"] = preloaded / plain;
  }
}

BENCHMARK(clock_shim)->Iterations(4'000)->Repetitions(5)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
