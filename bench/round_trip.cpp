#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "bench/boot_clock.hpp"
#include "leasehold/leasehold.hpp"
#include "mongo/commands.hpp"
#include "sim/live/servers/replica_set.hpp"

/// The cost of the lock beyond its two commands: an acquire and a release, and the same commands by
/// the bare driver, in turns, so that both meet the same noise.
namespace leasehold::bench {
namespace {

using namespace sim::live;
using std::chrono::milliseconds;

constexpr const char* kDatabase = "bench_round_trip";
constexpr const char* kCollection = "distributed.locks";
constexpr int kThreads = 16;

ReplicaSet& servers() {
  init_driver();
  static ReplicaSet set;
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
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Work>
double ms_of(Work work) {
  const auto began = boot_ns();
  work();
  return static_cast<double>(boot_ns() - began) * 1e-6;
}

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

/// Cycles a second of 16 threads; `make` gives each a function that takes and frees a name.
template <typename Make>
double rate(int names_each, Make make) {
  std::atomic<std::int64_t> cycles = 0;
  std::vector<std::jthread> threads;
  const auto began = boot_ns();
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t](const std::stop_token& stop) {
      auto cycle = make();
      for (int i = 0; !stop.stop_requested(); ++i) {
        if (cycle(std::to_string(t) + "-" + std::to_string(i % names_each))) ++cycles;
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(3));
  for (auto& thread : threads) thread.request_stop();
  threads.clear();
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

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
