#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>

#include "bench/busy_plan.hpp"
#include "model/verdict/walk.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::bench {
namespace {

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
    auto history = sim::simulated::run(busy_plan(1, faulty_ms, true)).history;
    const auto sent = operations_of(history);
    if (sent >= operations) return kept[operations] = std::move(history);
    faulty_ms = faulty_ms * operations / std::max<std::int64_t>(sent, 1) * 11 / 10 + 100;
  }
}

void report(benchmark::State& run, const model::History& history) {
  using benchmark::Counter;
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
void register_all(std::int64_t operations) {
  const auto add = [&](const char* name, void (*measure)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, measure)->Arg(operations)->Unit(benchmark::kMillisecond);
  };
  add("intern_history", intern_history);
  add("judge_history", judge_history);
  add("accept_history", accept_history);
}

}  // namespace
}  // namespace leasehold::bench

int main(int count, char** words) {
  for (const std::int64_t operations : {1'000, 10'000, 100'000, 1'000'000}) {
    leasehold::bench::register_all(operations);
  }
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
