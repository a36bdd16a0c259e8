#include "scenarios/lab/campaigns/simulate_runs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "scenarios/lab/campaigns/all_cores.hpp"
#include "scenarios/lab/interruption.hpp"

namespace leasehold::lab {

using properties::PlanLimits;
using properties::SimulateReport;

namespace {

/// What all cores share: they take one run after another, until there are enough.
class Shared {
 public:
  Shared(const Seeds& seeds, const PlanLimits& limits, bool hashed, bool until_failure)
      : seeds_(seeds), limits_(limits), hashed_(hashed), until_failure_(until_failure) {
    next_ = seeds.from;
  }

  SimulateReport run() {
    const std::uint64_t all = seeds_.to - seeds_.from + 1;
    const bool terminal = isatty(STDERR_FILENO) == 1;
    on_all_cores([&] { work(); },
                 [&] {
                   if (terminal) fmt::print(stderr, "\r\x1b[K{} of {} runs", done_.load(), all);
                 });
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    return std::move(report_);
  }

 private:
  void work() {
    SimulateReport mine;
    for (auto seed = next_++; seed <= seeds_.to && !interrupted() && !enough_; seed = next_++) {
      const sim::Plan plan = properties::draw_plan(seed, limits_);
      try {
        mine.add(seed, plan, properties::simulate(plan, seed), hashed_);
      } catch (...) {  // an operation that the simulated server does not know
        enough_ = true;
        throw;
      }
      ++done_;
      if (until_failure_ && mine.failed.contains(seed)) enough_ = true;
    }
    const std::scoped_lock lock(mutex_);
    report_.add(mine);
  }

  const Seeds seeds_;
  const PlanLimits& limits_;
  const bool hashed_, until_failure_;
  std::atomic<std::uint64_t> next_ = 0, done_ = 0;
  std::atomic<bool> enough_ = false;
  std::mutex mutex_;
  SimulateReport report_;
};

}  // namespace

SimulateReport run_seeds(const Seeds& seeds, const PlanLimits& limits, bool hashed,
                         bool until_failure) {
  return Shared(seeds, limits, hashed, until_failure).run();
}

}  // namespace leasehold::lab
