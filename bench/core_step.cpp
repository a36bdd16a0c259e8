#include <benchmark/benchmark.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "core/provider_core.hpp"
#include "sim/plan/random.hpp"

/// The core alone, without I/O: the cost of one step, and how often it allocates.
namespace {
std::int64_t allocations = 0;
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace leasehold::bench {
namespace {

using namespace core;
using std::chrono::milliseconds;

/// A core that holds this many locks, and a server that grants all.
class Holder {
 public:
  explicit Holder(std::int64_t locks) {
    for (std::int64_t i = 1; i <= locks; ++i) {
      give(AcquireAsked{static_cast<SessionId>(i), "lock-" + std::to_string(i), {}, std::nullopt});
      answer();
    }
  }

  /// A call that queues gets a lock of a new name and releases it, and another ends in vain.
  void churn() {
    LockOptions options;
    options.waiting = queue_waiting();
    const auto one = ++last_, other = ++last_;
    give(AcquireAsked{one, "churned-" + std::to_string(one), options, std::nullopt});
    answer();
    give(ReleaseAsked{one});
    answer();
    give(AcquireAsked{other, "busy", options, std::nullopt});
    give(ReplyArrived{std::exchange(sent_, {}).back().id, {.outcome = Outcome::not_executed}});
    give(CancelAsked{other});
    sent_.clear();
    now_ += milliseconds(1);
  }

  /// Every lock is renewed once.
  void round() {
    now_ += milliseconds(10'000);
    give(TimerFired{{Timer::Kind::extension_round, 0}});
    answer();
  }

 private:
  void give(const Event& event) {
    effects_.clear();
    core_.next(event, now_, entropy_, effects_);
    for (auto& effect : effects_) {  // as the runtime does
      if (auto* send = std::get_if<Send>(&effect)) sent_.push_back(std::move(send->command));
    }
  }

  void answer() {
    auto sent = std::move(sent_);
    sent_.clear();
    for (const auto& command : sent) {
      Reply reply;
      reply.outcome = Outcome::done;
      reply.operation_time = FencingToken(++time_);
      if (const auto* extend = std::get_if<ExtendCommand>(&command.body)) {
        reply.matched = static_cast<std::int64_t>(extend->statements.size());
      } else if (const auto* acquire = std::get_if<AcquireCommand>(&command.body)) {
        reply.documents = {{acquire->name, acquire->lock_id, ServerInstant{5}, 0, ""}};
      } else {
        reply.matched = 1;
      }
      give(ReplyArrived{command.id, std::move(reply)});
    }
  }

  ProviderCore core_{"host:1:bench"};
  sim::Random entropy_{1};
  Effects effects_;
  std::vector<Command> sent_;
  LocalInstant now_{std::chrono::hours(1)};
  std::int64_t time_ = 1;
  SessionId last_ = 1'000'000;
};

void extension_round(benchmark::State& state) {
  Holder holder(state.range(0));
  std::int64_t before = allocations, rounds = 0;
  for (auto _ : state) {
    holder.round();
    ++rounds;
  }
  const auto steps = static_cast<double>(rounds * state.range(0));
  state.counters["extensions_per_s"] = benchmark::Counter(steps, benchmark::Counter::kIsRate);
  state.counters["allocations_per_extension"] = static_cast<double>(allocations - before) / steps;
}
BENCHMARK(extension_round)->Arg(1)->Arg(100)->Arg(10'000);

/// After so many calls: what is remembered of them must not make the next one dearer.
void calls_after(benchmark::State& state) {
  Holder holder(0);
  for (std::int64_t i = 0; i < state.range(0); ++i) holder.churn();
  for (auto _ : state) holder.churn();
}
BENCHMARK(calls_after)->Arg(100)->Arg(10'000)->Arg(100'000);

/// A timer that fires early, as most do.
void idle_timer(benchmark::State& state) {
  ProviderCore core("");
  sim::Random entropy(1);
  Effects effects;
  core.next(AcquireAsked{1, "lock", {}, std::nullopt}, LocalInstant(std::chrono::hours(1)), entropy,
            effects);
  const std::int64_t before = allocations;
  std::int64_t steps = 0;
  for (auto _ : state) {
    effects.clear();
    core.next(TimerFired{{Timer::Kind::attempt, 1}}, LocalInstant(std::chrono::hours(1)), entropy,
              effects);
    ++steps;
  }
  state.counters["allocations_per_step"] =
      static_cast<double>(allocations - before) / static_cast<double>(steps);
}
BENCHMARK(idle_timer);

}  // namespace
}  // namespace leasehold::bench

BENCHMARK_MAIN();
