#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "properties/campaigns/judgement.hpp"
#include "properties/generation/plan_generator.hpp"
#include "sim/virtual/world.hpp"

/// The property over the virtual world: "every guarantee holds in every generated run".
namespace leasehold::properties {

/// From this many runs on, interesting events have to happen, and shares of checks count.
inline constexpr std::int64_t kManyRuns = 20;

/// One plan, run and checked.
struct Simulated {
  sim::RunResult run;
  Judgement judgement;
  [[nodiscard]] model::Verdict verdict() const { return model::overall_tested(judgement.findings); }
};
/// `conclude_deaths` names its seed, or this one.
[[nodiscard]] Simulated simulate(const sim::Plan& plan, std::optional<std::uint64_t> seed = {});

/// What a run adds to the hash of all: the sum does not depend on the order of threads.
[[nodiscard]] inline std::uint64_t seeds_hash(std::uint64_t seed, const sim::RunResult& run) {
  return sim::simulated::hash(run.history) * (2 * seed + 1);
}
/// From here on a lock that dies in `simulate`, and this process with it, is a verdict: violated,
/// with the seeds that ran, on the standard output and as the exit code.
void conclude_deaths();

/// Calls `work` for each number below `count`, on as many threads as there are cores, and returns
/// when all have ended. Once it has returned false no other number is begun; so, too, if it throws,
/// and the exception is thrown here. Meanwhile calls `watch`, if there is one, about five times a
/// second from the caller's thread, with how many are done.
void on_all_cores(std::uint64_t count, const std::function<bool(std::uint64_t)>& work,
                  const std::function<void(std::uint64_t)>& watch = nullptr);

struct SimulateReport : Sums {
  std::int64_t runs = 0;
  double virtual_s = 0;
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  ///< of all histories, if it was asked for
  std::int64_t fewest_acquisitions = 0;  ///< of any run
  std::int64_t idle_runs = 0;            ///< with too few of them to say much
  Totals with;  ///< runs in which something can happen: "queues", "permits", "leaders", ...
  bool interrupted = false;              ///< not all seeds ran
  bool scripted = false;                 ///< the last run's acquires were written by a person
  Totals enabled, bit;             ///< by fault kind: in how many runs
  std::set<std::uint64_t> failed;  ///< seeds of runs that did not hold

  SimulateReport() = default;
  /// The report has one run.
  SimulateReport(std::uint64_t seed, const sim::Plan& plan, const Simulated& one, bool hashed);
  void add(const SimulateReport& other);
  /// Holds only if each run acquired, and each fault kind had an effect.
  [[nodiscard]] CampaignAnswer answer() const;
  /// What keeps it from `holds`, or empty.
  [[nodiscard]] std::string shortfall() const;
};

}  // namespace leasehold::properties
