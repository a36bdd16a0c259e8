#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>

#include "model/verdict/checkers.hpp"
#include "sim/virtual/world.hpp"

/// The virtual world, and the checkers of its histories.
namespace leasehold::bench {
namespace {

using benchmark::Counter;

/// Eight processes on two locks, with a little of everything, for `faulty_ms`.
sim::Plan busy_plan(std::uint64_t seed, std::int64_t faulty_ms) {
  using Kind = sim::FaultPlan::Kind;
  sim::Plan plan;
  plan.seed = seed;
  plan.faulty_ms = faulty_ms;
  plan.processes.resize(8);
  for (auto& process : plan.processes) process.wait_max_ms = 100;
  const auto pick = static_cast<std::int64_t>(seed % 7);
  plan.faults = {{Kind::crash, faulty_ms / 8, 0, pick, 0},
                 {Kind::step_up, faulty_ms / 4, 0, pick, 0},
                 {Kind::pause, faulty_ms / 3, faulty_ms / 6, pick, 0},
                 {Kind::lost_replies, faulty_ms / 2, faulty_ms / 8, pick, 0},
                 {Kind::kill_member, faulty_ms * 2 / 3, faulty_ms / 6, pick, 0}};
  return plan;
}

/// The whole world: busy plans with faults, run and not checked.
void busy_plans(benchmark::State& run) {
  std::uint64_t seed = 0, events = 0;
  std::int64_t acquisitions = 0;
  double virtual_s = 0;
  for (auto _ : run) {
    auto one = sim::simulated::run(busy_plan(++seed, 6'000));
    events += one.events;
    virtual_s += static_cast<double>(one.elapsed_ns) * 1e-9;
    for (const auto& e : one.history) acquisitions += e.kind == model::Kind::granted ? 1 : 0;
  }
  run.counters["events_per_cpu_second"] = Counter(static_cast<double>(events), Counter::kIsRate);
  run.counters["lifecycles_per_cpu_second"] =
      Counter(static_cast<double>(acquisitions), Counter::kIsRate);
  run.counters["virtual_seconds_per_cpu_second"] = Counter(virtual_s, Counter::kIsRate);
}
BENCHMARK(busy_plans)->Iterations(100)->Unit(benchmark::kMillisecond);

std::int64_t operations_of(const model::History& history) {
  return std::count_if(history.begin(), history.end(),
                       [](const model::Event& e) { return e.kind == model::Kind::send; });
}

/// A history of at least this many operations: acquires, extensions, releases, failed attempts,
/// unknown outcomes and expiries. One is kept for benchmarks that run one after the other.
const model::History& history_of(std::int64_t operations) {
  static std::map<std::int64_t, model::History> kept;
  if (kept.contains(operations)) return kept[operations];
  kept.clear();
  for (std::int64_t faulty_ms = 1'000;;) {
    auto history = sim::simulated::run(busy_plan(1, faulty_ms)).history;
    const auto sent = operations_of(history);
    if (sent >= operations) return kept[operations] = std::move(history);
    faulty_ms = faulty_ms * operations / std::max<std::int64_t>(sent, 1) * 11 / 10 + 100;
  }
}

void report(benchmark::State& run, const model::History& history) {
  const auto operations = static_cast<double>(operations_of(history));
  run.counters["operations"] = operations;
  run.counters["events"] = static_cast<double>(history.size());
  run.counters["ns_per_operation"] =
      Counter(operations * 1e-9, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

/// Numbers the events of a history in memory.
void intern_history(benchmark::State& run) {
  const auto& history = history_of(run.range(0));
  for (auto _ : run) benchmark::DoNotOptimize(model::facts(history));
  report(run, history);
}

void check(const model::Digest& digest) {
  model::Acceptance accepted;
  benchmark::DoNotOptimize(model::judge(digest, {}, accepted));
  benchmark::DoNotOptimize(accepted);
}

/// All that `verify` and `simulate` check in a history in memory: its form, all guarantees, whether
/// each step is an arrow of the diagrams, and a version that the document can have.
void judge_history(benchmark::State& run) {
  const auto& history = history_of(run.range(0));
  for (auto _ : run) check(model::digest(history));
  report(run, history);
}

/// The acceptor alone.
void accept_history(benchmark::State& run) {
  const auto& history = history_of(run.range(0));
  const auto digest = model::digest(history);
  for (auto _ : run) benchmark::DoNotOptimize(model::accept(digest));
  report(run, history);
}

/// One after the other, because they share a history.
[[maybe_unused]] const bool kRegistered = [] {
  for (const std::int64_t operations : {1'000, 10'000, 100'000, 1'000'000}) {
    for (const auto& [name, measure] : {std::pair("intern_history", &intern_history),
                                        {"judge_history", &judge_history},
                                        {"accept_history", &accept_history}}) {
      benchmark::RegisterBenchmark(name, measure)->Arg(operations)->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
