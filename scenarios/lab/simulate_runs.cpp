#include "scenarios/lab/simulate_runs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "properties/guided/abstract_states.hpp"
#include "properties/guided/guided_plans.hpp"
#include "scenarios/lab/all_cores.hpp"
#include "scenarios/lab/interruption.hpp"

namespace leasehold::lab {

using properties::PlanLimits;
using properties::SimulateReport;
using sim::Plan;

namespace {

/// What all cores do together: a run after another, until there are enough.
class Shared {
 public:
  Shared(const Seeds& seeds, bool hashed, bool until_failure)
      : seeds_(seeds), hashed_(hashed), until_failure_(until_failure) {
    next_ = seeds.from + seeds.shard - 1;
  }

  /// `plan_of` gives the plan of a run, `done` gets its history; both are called by all cores.
  template <typename PlanOf, typename Done>
  Runs run(PlanOf plan_of, Done done) {
    const std::uint64_t all = (seeds_.to - seeds_.from + 1 - seeds_.shard) / seeds_.shards + 1;
    const bool terminal = isatty(STDERR_FILENO) == 1;
    on_all_cores([&] { work(plan_of, done); },
                 [&] {
                   if (terminal) fmt::print(stderr, "\r\x1b[K{} of {} runs", done_.load(), all);
                 });
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    return std::move(runs_);
  }

 private:
  [[nodiscard]] bool in_time() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    return seeds_.seconds == 0 || passed.count() < seeds_.seconds;
  }
  std::uint64_t take() { return next_.fetch_add(seeds_.shards); }

  template <typename PlanOf, typename Done>
  void work(PlanOf& plan_of, Done& done) {
    SimulateReport mine;
    for (auto seed = take(); seed <= seeds_.to && !interrupted() && !enough_ && in_time();
         seed = take()) {
      const Plan plan = plan_of(seed);
      try {
        const auto one = properties::simulate(plan);
        mine.add(seed, plan, one, hashed_);
        done(plan, one.run.history);
      } catch (...) {  // what the simulated server does not know
        enough_ = true;
        throw;
      }
      ++done_;
      if (mine.failed.contains(seed)) note_failure(plan);
    }
    const std::scoped_lock lock(mutex_);
    runs_.report.add(mine);
  }

  void note_failure(const Plan& plan) {
    const std::scoped_lock lock(mutex_);
    if (!runs_.failed) runs_.failed = plan;
    if (until_failure_) enough_ = true;
  }

  const Seeds seeds_;
  const bool hashed_, until_failure_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> next_ = 0, done_ = 0;
  std::atomic<bool> enough_ = false;
  std::mutex mutex_;
  Runs runs_;
};

}  // namespace

Runs run_seeds(const Seeds& seeds, const PlanLimits& limits, bool hashed, bool until_failure) {
  auto runs = Shared(seeds, hashed, until_failure)
                  .run([&](std::uint64_t seed) { return properties::draw_plan(seed, limits); },
                       [](const Plan&, const model::History&) {});
  runs.failed.reset();  // the lowest seed that failed is shown
  return runs;
}

Runs run_guided(const Seeds& seeds, const PlanLimits& limits, bool until_failure) {
  properties::GuidedPlans plans(limits, seeds.from);
  std::mutex mutex;
  const auto next = [&](std::uint64_t) {
    const std::scoped_lock lock(mutex);
    return plans.next();
  };
  const auto add = [&](const Plan& plan, const model::History& history) {
    const auto states = properties::AbstractStates::of(history);
    const std::scoped_lock lock(mutex);
    plans.add(plan, states);
  };
  auto runs = Shared(seeds, false, until_failure).run(next, add);
  runs.report.guided = true;
  fmt::print("{} situations reached, {} plans kept for one\n", plans.situations(), plans.kept());
  return runs;
}

}  // namespace leasehold::lab
