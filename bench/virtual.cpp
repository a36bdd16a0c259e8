#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>

#include "bench/contend/run.hpp"
#include "model/verdict/checkers.hpp"
#include "sim/virtual/world.hpp"

/// Waiting strategies in the virtual world, this world itself, and the checkers of its histories.
namespace leasehold::bench {
namespace {

using benchmark::Counter;

/// Strategies under contention. The time is the measured time divided by the acquisitions of all
/// clients together, so less is better; the counters say what that cost. A repetition has the next
/// seed, and the same seed for each strategy.
void contention(benchmark::State& run, const std::string& strategy) {
  static std::map<std::string, std::uint64_t> seeds;
  Load load;
  load.strategy = strategy;
  load.clients = static_cast<int>(run.range(0));
  load.hold = "constant:" + std::to_string(run.range(1)) + "ms";
  for (auto _ : run) {
    load.seed = ++seeds[strategy + std::to_string(load.clients) + load.hold];
    const auto result = run_virtual(load);
    std::vector<double> waits_ms;
    for (const Sample& s : result.samples) {
      if (s.granted_ns < 0 || s.granted_ns >= load.end_ns()) continue;
      waits_ms.push_back(static_cast<double>(s.granted_ns - s.asked_ns) * 1e-6);
    }
    const auto acquired = static_cast<double>(waits_ms.size());
    const auto commands = static_cast<double>(result.wire.writes + result.wire.reads);
    const auto p99 = waits_ms.begin() + std::ssize(waits_ms) * 99 / 100;
    std::ranges::nth_element(waits_ms, p99);
    run.SetIterationTime(static_cast<double>(load.measured_ms) * 1e-3 / acquired);
    run.counters["wait_p99_ms"] = *p99;
    run.counters["commands"] = commands / acquired;
  }
}

[[maybe_unused]] const bool kContentionRegistered = [] {
  for (const char* strategy : {"uniform", "adaptive", "queue"}) {
    const auto name = std::string("contention/") + strategy;
    benchmark::RegisterBenchmark(name.c_str(), contention, strategy)
        ->ArgNames({"clients", "hold_ms"})
        ->ArgsProduct({{2, 16, 64}, {5, 100}})
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

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
  return std::ranges::count(history, model::Kind::send, &model::Event::kind);
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

/// Does that to a history in memory, again and again.
template <typename Work>
void measure(benchmark::State& run, const model::History& history, Work work) {
  for (auto _ : run) work();
  const auto operations = static_cast<double>(operations_of(history));
  run.counters["operations"] = operations;
  run.counters["events"] = static_cast<double>(history.size());
  run.counters["ns_per_operation"] =
      Counter(operations * 1e-9, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

/// Numbers the events.
void intern_history(benchmark::State& run) {
  const auto& history = history_of(run.range(0));
  measure(run, history, [&] { benchmark::DoNotOptimize(model::facts(history)); });
}

/// All that `verify` and `simulate` check: its form, all guarantees, whether each step is an arrow
/// of the diagrams, and a version that the document can have.
void judge_history(benchmark::State& run) {
  const auto& history = history_of(run.range(0));
  measure(run, history, [&] {
    model::Acceptance accepted;
    benchmark::DoNotOptimize(model::judge(model::digest(history), accepted));
    benchmark::DoNotOptimize(accepted);
  });
}

/// The acceptor alone.
void accept_history(benchmark::State& run) {
  const auto& history = history_of(run.range(0));
  const auto digest = model::digest(history);
  measure(run, history, [&] { benchmark::DoNotOptimize(model::accept(digest)); });
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
