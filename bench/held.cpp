#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "bench/live_bench.hpp"
#include "leasehold/leasehold.hpp"
#include "sim/live/servers/replica_set.hpp"

/// The cost of keeping many locks: extensions travel in batches.
namespace leasehold::bench {
namespace {

using namespace sim::live;
using std::chrono::milliseconds;

constexpr milliseconds kExpiry{30'000};
constexpr milliseconds kCadence{10'000};
constexpr int kThreads = 16;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void held(benchmark::State& state) {
  init_driver();
  static ReplicaSet servers;
  static int databases = 0;
  const auto updates = std::make_shared<std::atomic<int>>(0);
  auto provider = told_provider(servers.uri(), "bench_held_" + std::to_string(++databases),
                                kThreads, [updates](const std::string& name) {
                                  if (name == "update") ++*updates;
                                });
  const int locks = static_cast<int>(state.range(0));
  LockOptions options;
  options.expiry = kExpiry;
  options.extension_cadence = kCadence;
  std::vector<std::vector<LockHandle>> handles(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < locks; i += kThreads) {
          auto lock = provider.create_lock("held-" + std::to_string(i), options);
          auto handle = lock->try_acquire(milliseconds(10'000));
          if (handle) handles[static_cast<std::size_t>(t)].push_back(std::move(handle).value());
        }
      });
    }
  }
  std::this_thread::sleep_for(kCadence);  // until they have fallen into step
  for (auto _ : state) {
    const int before = *updates;
    const double cpu = cpu_seconds();
    std::this_thread::sleep_for(kCadence);
    state.counters["commands_per_round"] = static_cast<double>(*updates - before);
    state.counters["client_core_percent"] =
        100 * (cpu_seconds() - cpu) * 1'000 / static_cast<double>(kCadence.count());
  }
  std::int64_t still = 0;
  for (const auto& some : handles) {
    for (const auto& handle : some) still += handle.held() ? 1 : 0;
  }
  state.counters["still_held"] = static_cast<double>(still);
  std::vector<std::jthread> threads;
  for (auto& some : handles) threads.emplace_back([&some] { some.clear(); });
}
BENCHMARK(held)->Arg(10)->Arg(1'000)->Arg(10'000)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
