#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "bench/contend/live/live_run.hpp"
#include "leasehold/leasehold.hpp"
#include "mongo/commands.hpp"

/// What the lock costs on real servers. Where two things are compared they take turns, so that both
/// meet the same noise.
namespace leasehold::bench {
namespace {

using namespace sim::live;
using std::chrono::milliseconds;

constexpr const char* kDatabase = "bench_round_trip";
constexpr const char* kCollection = "distributed.locks";
constexpr int kThreads = 16;

Servers& servers() {
  init_driver();
  static Servers set("");
  return set;
}

LockProvider connect() {
  ProviderOptions options;
  options.database = kDatabase;
  options.workers = kThreads;
  options.holder.clear();
  return std::move(LockProvider::connect(servers().uri(), options)).value();
}

/// The lock's commands without the lock.
class Bare {
 public:
  Bare() : client_(servers().uri()) {}
  void run(const core::Command& command) {
    const auto bytes = mongo::build(command, kCollection);
    bson_t reply;
    bson_error_t error;
    mongoc_client_command_with_opts(client_.get(), kDatabase, bytes.get(), nullptr, nullptr, &reply,
                                    &error);
    bson_destroy(&reply);
  }
  void acquire(const std::string& name) {
    run({1, milliseconds(10'000),
         core::AcquireCommand{1, name, kOwner, to_hex(kOwner) + ".30000." + std::to_string(++beat_),
                              std::nullopt, milliseconds(30'000), milliseconds(30'000)}});
  }
  void release(const std::string& name) {
    run({2, milliseconds(10'000), core::DeleteCommand{name, kOwner, std::nullopt}});
  }

 private:
  static constexpr core::Owner kOwner{1, 2};
  MongoClient client_;
  std::int64_t beat_ = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Work>
double ms_of(Work work) {
  const auto began = boot_ns();
  work();
  return static_cast<double>(boot_ns() - began) * 1e-6;
}

/// The cost of the lock beyond its two commands: an acquire and a release, and the same commands by
/// the bare driver.
void one_at_a_time(benchmark::State& state) {
  auto provider = connect();
  const auto lock = std::move(provider.create_lock("ours")).value();
  Bare bare;
  std::vector<double> acquire, release, bare_acquire, bare_release;
  for (auto _ : state) {
    Result<LockHandle> handle = Error{};
    acquire.push_back(ms_of([&] { handle = lock.try_acquire(milliseconds(10'000)); }));
    release.push_back(ms_of([&] { handle->release(); }));
    bare_acquire.push_back(ms_of([&] { bare.acquire("bare"); }));
    bare_release.push_back(ms_of([&] { bare.release("bare"); }));
  }
  state.counters["acquire_p50_ms"] = median(acquire);
  state.counters["release_p50_ms"] = median(release);
  state.counters["acquire_ratio"] = median(acquire) / median(bare_acquire);
  state.counters["release_ratio"] = median(release) / median(bare_release);
}
BENCHMARK(one_at_a_time)->Iterations(600)->Unit(benchmark::kMillisecond);

/// Calls `work` on each of 16 threads, with its number.
template <typename Work>
void on_threads(Work work) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
}

/// Cycles a second of all threads; `make` gives each a function that takes and frees a name.
template <typename Make>
double rate(int names_each, Make make) {
  std::atomic<std::int64_t> cycles = 0;
  const auto began = boot_ns();
  on_threads([&](int t) {
    auto cycle = make();
    for (int i = 0; boot_ns() - began < 3'000'000'000; ++i) {
      if (cycle(std::to_string(t) + "-" + std::to_string(i % names_each))) ++cycles;
    }
  });
  return static_cast<double>(cycles) * 1e9 / static_cast<double>(boot_ns() - began);
}

void names_each(benchmark::State& state, int count) {
  auto provider = connect();
  for (auto _ : state) {
    const double ours = rate(count, [&] {
      return [&](const std::string& name) {
        auto handle =
            std::move(provider.create_lock(name)).value().try_acquire(milliseconds(10'000));
        return handle && handle->release() == ReleaseResult::released;
      };
    });
    const double bare = rate(count, [] {
      return [client = std::make_unique<Bare>()](const std::string& name) {
        client->acquire("bare-" + name);
        client->release("bare-" + name);
        return true;
      };
    });
    state.counters["cycles_per_s"] = ours;
    state.counters["rate_ratio"] = ours / bare;
  }
}
BENCHMARK_CAPTURE(names_each, sixteen_names, 1)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(names_each, many_names, 1'000)->Iterations(1)->Unit(benchmark::kSecond);

// The cost of keeping many locks: extensions travel in batches.
constexpr milliseconds kExpiry{30'000};
constexpr milliseconds kCadence{10'000};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void held(benchmark::State& state) {
  static int databases = 0;
  const auto updates = std::make_shared<std::atomic<int>>(0);
  auto provider = told_provider(servers().uri(), "bench_held_" + std::to_string(++databases),
                                kThreads, [updates](const std::string& name) {
                                  if (name == "update") ++*updates;
                                });
  const int locks = static_cast<int>(state.range(0));
  LockOptions options;
  options.expiry = kExpiry;
  options.extension_cadence = kCadence;
  std::array<std::vector<LockHandle>, kThreads> handles;
  on_threads([&](int t) {
    for (int i = t; i < locks; i += kThreads) {
      auto lock = provider.create_lock("held-" + std::to_string(i), options);
      auto handle = lock->try_acquire(milliseconds(10'000));
      if (handle) handles.at(static_cast<std::size_t>(t)).push_back(std::move(handle).value());
    }
  });
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
  on_threads([&](int t) { handles.at(static_cast<std::size_t>(t)).clear(); });
}
BENCHMARK(held)->Arg(10)->Arg(1'000)->Arg(10'000)->Iterations(1)->Unit(benchmark::kSecond);

/// A permit is taken and given back while so many others of its semaphore are held.
void permit(benchmark::State& state) {
  const auto provider = connect();
  const auto others = static_cast<int>(state.range(0));
  const auto semaphore =
      provider
          .create_semaphore("permits-" + std::to_string(others), others + 1,
                            {.expiry = std::chrono::minutes(20)})
          .value();
  std::vector<LockHandle> held;
  while (std::ssize(held) < others) held.push_back(semaphore.acquire().value());
  for (auto _ : state) semaphore.try_acquire().value().release();
  for (auto& one : held) one.begin_release();
}
BENCHMARK(permit)->Arg(0)->Arg(9)->Arg(99)->Arg(999)->Iterations(200)->Unit(
    benchmark::kMillisecond);

/// So many providers wait at held names, one each, or all at one: what that costs the servers, and
/// how soon half of them, and all, are granted locks that are released at once.
template <typename Waiting>
void waiting(benchmark::State& state, Waiting strategy) {
  const int clients = static_cast<int>(state.range(0)), names = static_cast<int>(state.range(1));
  const LockOptions options{.expiry = milliseconds(60'000), .waiting = strategy()};
  static int runs = 0;
  const auto lock_of = [&, run = ++runs](LockProvider& provider, int i) {
    return *provider.create_lock(std::to_string(run) + "-" + std::to_string(i % names), options);
  };
  auto holder = connect();
  std::vector<LockHandle> held;
  for (int i = 0; i < names; ++i) held.push_back(*lock_of(holder, i).try_acquire(milliseconds(0)));
  std::vector<LockProvider> providers;
  std::atomic<int> granted = 0, failed = 0;
  for (int i = 0; i < clients; ++i) {
    providers.push_back(*LockProvider::connect(servers().uri(), {.database = kDatabase}));
    lock_of(providers.back(), i).acquire_async(kLongestDuration, [&](Result<LockHandle> handle) {
      handle ? ++granted : ++failed;
      if (handle) return handle->release_async();
      std::fprintf(stderr, "%s\n", handle.error().message.c_str());
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(10));
  for (auto _ : state) {
    constexpr int kSeconds = 20;
    const double cpu = servers().cpu_s(), own = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
    state.counters["server_cores"] = (servers().cpu_s() - cpu) / kSeconds;
    state.counters["client_cores"] = (cpu_seconds() - own) / kSeconds;
    const auto began = boot_ns();
    for (auto& handle : held) handle.release_async();
    const auto until = [&](int n) {
      while (granted + failed < n) std::this_thread::sleep_for(milliseconds(1));
      return static_cast<double>(boot_ns() - began) * 1e-6;
    };
    state.counters["half_ms"] = until(clients / 2);
    state.counters["all_ms"] = until(clients);
    state.counters["failed"] = failed.load();
  }
  // One after the other, a thousand would take minutes.
  std::vector<std::jthread> enders;
  for (int i = 0; i < clients; ++i) {
    enders.emplace_back([own = std::move(providers[static_cast<std::size_t>(i)])] {});
  }
}
#define LEASEHOLD_WAITING(strategy)                                                     \
  BENCHMARK_CAPTURE(waiting, strategy, [] { return strategy##_waiting(); })             \
      ->Args({200, 200})->Args({1'000, 1'000})->Args({200, 1})->Args({1'000, 1})        \
      ->Iterations(1)->Unit(benchmark::kSecond)
LEASEHOLD_WAITING(queue);
LEASEHOLD_WAITING(uniform);

/// Free names that one process asks for at once, or so many at a time. The leases are so long that
/// no extension is measured.
void burst(benchmark::State& state) {
  const auto names = state.range(0), at_once = state.range(1);
  const LockOptions options{.expiry = std::chrono::minutes(20)};
  static int runs = 0;
  for (auto _ : state) {
    auto provider = connect();
    std::atomic<std::int64_t> granted = 0, failed = 0;
    std::vector<LockHandle> held;  // by the one thread that calls back
    const auto began = boot_ns();
    for (std::int64_t i = 0; i < names; ++i) {
      while (i - granted - failed >= at_once) std::this_thread::yield();
      const auto name = "burst-" + std::to_string(runs) + "-" + std::to_string(i);
      const auto lock = *provider.create_lock(name, options);
      lock.acquire_async(kLongestDuration, [&](Result<LockHandle> handle) {
        if (handle) held.push_back(std::move(*handle));
        handle ? ++granted : ++failed;
      });
    }
    while (granted + failed < names) std::this_thread::sleep_for(milliseconds(1));
    state.counters["grants_per_s"] =
        static_cast<double>(granted) * 1e9 / static_cast<double>(boot_ns() - began);
    state.counters["failed"] = static_cast<double>(failed);
    for (auto& handle : held) handle.release_async();  // one by one they would take minutes
    ++runs;
  }
}
BENCHMARK(burst)->Args({10'000, 64})->Args({10'000, 10'000})->Args({60'000, 64})
    ->Args({60'000, 60'000})->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
