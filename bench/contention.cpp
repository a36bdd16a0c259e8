#include <benchmark/benchmark.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iostream>
#include <numeric>
#include <thread>

#include "bench/contender.hpp"
#include "sim/live/child_process.hpp"
#include "sim/live/replica_set.hpp"

/// Many callers and one lock, on a real replica set: how each waiting strategy loads the server,
/// how soon the lock changes hands, and how fairly. Figures of one run are comparable, others are
/// not: run with --benchmark_enable_random_interleaving=true and several repetitions.
namespace leasehold::bench {
namespace {

using namespace sim::live;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStartUp = kSecond;
constexpr std::int64_t kWarmUp = 3 * kSecond;  ///< some strategies learn
constexpr std::int64_t kMeasured = 5 * kSecond;
constexpr int kWrites = 100;

ReplicaSet& servers() {
  static ReplicaSet set;
  return set;
}

/// The bare driver's majority writes, as the lock's delete is one: how long each took.
std::vector<double> majority_writes_ms() {
  MongoClient client(servers().uri());
  std::vector<double> times;
  for (int i = 0; i < kWrites; ++i) {
    const auto began = boot_ns();
    client.must(
        "bench",
        {{"update", "writes"},
         {"updates", {{{"q", {{"_id", 1}}}, {"u", {{"$set", {{"i", i}}}}}, {"upsert", true}}}},
         {"writeConcern", {{"w", "majority"}}}});
    times.push_back(static_cast<double>(boot_ns() - began) * 1e-6);
  }
  return times;
}

double server_cpu_s() {
  double sum = 0;
  for (int i = 0; i < servers().size(); ++i) sum += servers().mongod(i).cpu_seconds();
  return sum;
}

/// How much of the time no core was idle.
class BusyShare {
 public:
  BusyShare() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}
  double stop() {
    thread_.request_stop();
    thread_.join();
    return looks_ == 0 ? 0 : static_cast<double>(busy_) / static_cast<double>(looks_);
  }

 private:
  static std::int64_t idle_ticks() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0;
    stat >> cpu >> user >> nice >> system >> idle;
    return idle;
  }
  void watch(const std::stop_token& stop) {
    auto last = idle_ticks();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto now = idle_ticks();
      ++looks_;
      if (now == last) ++busy_;
      last = now;
    }
  }
  std::int64_t looks_ = 0, busy_ = 0;
  std::jthread thread_;
};

/// Everything that a child writes until it ends.
std::string output_of(ChildProcess& child) {
  std::string text;
  char buffer[65'536];
  for (;;) {
    pollfd ready{child.out(), POLLIN, 0};
    poll(&ready, 1, -1);
    const auto n = read(child.out(), buffer, sizeof buffer);
    if (n == 0) return text;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// So that holdings, and the write that each costs, fill as much of the time as is asked for.
std::int64_t arrival_us(const Load& load, double write_ms) {
  if (load.busy_percent == 0) return 0;
  const double lasts_us = static_cast<double>(load.hold_us) + write_ms * 1'000;
  return static_cast<std::int64_t>(lasts_us * load.processes * 100 / load.busy_percent);
}

void contention(benchmark::State& state, Load load) {
  static int runs = 0;
  for (auto _ : state) {
    auto writes_ms = majority_writes_ms();
    ContenderOrder order{load, 0, arrival_us(load, mean(writes_ms)), servers().uri(),
                         "bench_" + std::to_string(++runs)};
    order.from_ns = boot_ns() + kStartUp + kWarmUp;
    order.to_ns = order.from_ns + kMeasured;
    std::vector<ChildProcess> children;
    for (; order.process < load.processes; ++order.process) {
      children.emplace_back(std::vector<std::string>{"/proc/self/exe", "--contend", to_json(order)},
                            ChildProcess::Io::pipes);
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(order.from_ns - boot_ns()));
    const double cpu_before = server_cpu_s();
    BusyShare busy;
    std::this_thread::sleep_for(std::chrono::nanoseconds(order.to_ns - boot_ns()));
    const double busy_share = busy.stop();
    const double cpu_s = server_cpu_s() - cpu_before;
    Contended all;
    for (auto& child : children) {
      auto one = contended_from_json(output_of(child));
      all.commands += one.commands;
      all.taken.insert(all.taken.end(), one.taken.begin(), one.taken.end());
    }
    const auto c = measure(all.taken, load.all_callers(), order.from_ns, order.to_ns);
    const double seconds = static_cast<double>(kMeasured) / static_cast<double>(kSecond);
    const double acquisitions = std::max(c.acquisitions_per_s * seconds, 1.0);
    for (const double ms : majority_writes_ms()) writes_ms.push_back(ms);
    // A rate is one over a mean: of the holdings, and of the writes.
    const double write_ms = mean(writes_ms);
    const double ideal = 1'000 / (c.mean_hold_ms + write_ms);
    state.SetIterationTime(seconds);
    state.counters["acq_per_s"] = c.acquisitions_per_s;
    state.counters["share_of_ideal"] = c.acquisitions_per_s / ideal;
    state.counters["commands_per_acq"] = static_cast<double>(all.commands) / acquisitions;
    state.counters["hand_over_p50_ms"] = c.hand_over_p50_ms;
    state.counters["hand_over_p99_ms"] = c.hand_over_p99_ms;
    state.counters["wait_p50_ms"] = c.wait_p50_ms;
    state.counters["wait_p99_ms"] = c.wait_p99_ms;
    state.counters["wait_max_ms"] = c.wait_max_ms;
    state.counters["jain"] = c.jain;
    state.counters["hold_ms"] = c.mean_hold_ms;
    state.counters["write_ms"] = write_ms;
    state.counters["write_p50_ms"] = quantile(std::move(writes_ms), 0.5);
    state.counters["server_cpu_ms_per_acq"] = cpu_s * 1'000 / acquisitions;
    state.counters["cores_busy"] = busy_share;
  }
}

void add(const std::string& name, const Load& load) {
  benchmark::RegisterBenchmark(name.c_str(), contention, load)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kSecond);
}

Load with(const std::string& strategy, int processes, int providers, int callers) {
  Load load;
  load.strategy = strategy;
  load.processes = processes;
  load.providers = providers;
  load.callers = callers;
  return load;
}

Load arriving(const std::string& strategy, int hold_ms, int percent) {
  Load open = with(strategy, 1, 16, 1);
  open.hold_us = hold_ms * 1'000;
  open.busy_percent = percent;
  return open;
}

void add_all() {
  for (const auto& s : strategies()) {
    add("clients_16/" + s, with(s, 1, 16, 1));
    add("clients_2/" + s, with(s, 1, 2, 1));
    add("clients_64/" + s, with(s, 1, 64, 1));
    add("os_processes_64/" + s, with(s, 64, 1, 1));
    add("open_30/" + s, arriving(s, 5, 30));
    add("open_80/" + s, arriving(s, 5, 80));
    add("open_80_hold_20/" + s, arriving(s, 20, 80));
    add("open_80_hold_100/" + s, arriving(s, 100, 80));
    for (const int hold_ms : {0, 20, 100}) {
      Load held = with(s, 1, 16, 1);
      held.hold_us = hold_ms * 1'000;
      add("clients_16_hold_" + std::to_string(hold_ms) + "/" + s, held);
    }
  }
  for (const char* s : {"uniform", "adaptive"}) {
    add(std::string("queue_16/") + s, with(s, 1, 1, 16));
    add(std::string("queue_64/") + s, with(s, 1, 1, 64));
    add(std::string("two_processes_32/") + s, with(s, 2, 1, 32));
    Load without = with(s, 2, 1, 32);
    without.hand_overs = 0;
    add(std::string("two_processes_32_without_hand_over/") + s, without);
  }
}

}  // namespace
}  // namespace leasehold::bench

int main(int argc, char** argv) {
  using namespace leasehold;
  if (argc == 3 && std::strcmp(argv[1], "--contend") == 0) {
    sim::live::init_driver();
    std::cout << bench::to_json(bench::contend(bench::order_from_json(argv[2]))) << std::endl;
    return 0;
  }
  sim::live::init_driver();
  bench::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
