#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/spec/diagrams.hpp"
#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"
#include "properties/generation/plan_generator.hpp"
#include "sim/virtual/world.hpp"
#include "sim/world.hpp"

/// What is checked in a run, in either world, the sums over many runs, and the campaign of virtual
/// ones: "every guarantee holds in every generated run".
namespace leasehold::properties {

/// The reason of a finding that is unknown because the harness could not read what was written.
inline constexpr const char* kNotRead = "the server's oplog was not read to its end";

/// The guarantees, and whether every step is an arrow of the diagrams.
struct Judgement {
  std::vector<model::Finding> findings;
  model::ArrowCounts arrows;
};
/// With promises it is a run of a worker of the user's lock, which has no diagrams.
[[nodiscard]] Judgement judge(const model::History& history,
                              const std::optional<model::Promises>& promises = {});

/// "stalls 3, pauses 1".
[[nodiscard]] std::string excuses_of(const model::Finding& finding);
/// The percentage of its checks that were excused.
[[nodiscard]] inline double excused_percent(const model::Finding& finding) {
  const auto all = std::max<std::int64_t>(finding.checked + finding.all_excused(), 1);
  return 100.0 * static_cast<double>(finding.all_excused()) / static_cast<double>(all);
}

/// How the machine and the members stood still.
struct Stalls {
  std::int64_t longest_ns = 0;  ///< of the machine or a member; 0: none of note
  std::string victim;           ///< of the longest
  std::int64_t machine_ns = 0;  ///< the machine, in all ...
  std::int64_t run_ns = 0;      ///< ... of this time
  void add(const Stalls& other) {
    if (other.longest_ns > longest_ns) longest_ns = other.longest_ns, victim = other.victim;
    machine_ns += other.machine_ns;
    run_ns += other.run_ns;
  }
  [[nodiscard]] double machine_percent() const {
    return 100.0 * static_cast<double>(machine_ns) /
           static_cast<double>(std::max<std::int64_t>(run_ns, 1));
  }
  /// Whether the machine stood still for more than half of the time: then nothing is certain.
  [[nodiscard]] bool mostly() const { return machine_percent() > 50; }
};
[[nodiscard]] Stalls stalls_in(const model::History& history);
/// "1900 ms (member-1); the machine stood still for 2.5 % of the time".
[[nodiscard]] std::string to_string(const Stalls& stalls);

/// What a run certainly broke.
[[nodiscard]] model::CheckSet violated(const std::vector<model::Finding>& findings);
/// The first of them in the order of the table.
[[nodiscard]] inline std::optional<model::Check> first_violated(
    const std::vector<model::Finding>& findings) {
  const auto all = violated(findings);
  return all.empty() ? std::nullopt : std::optional(*all.begin());
}

/// Whether the guarantee is violated.
[[nodiscard]] inline bool breaks(const Judgement& judgement, model::Check check) {
  return violated(judgement.findings).contains(check);
}

using Totals = std::map<std::string, std::int64_t>;

/// Counts that a history alone shows: acquisitions, takeovers, extensions, ...
[[nodiscard]] Totals totals_of(const model::History& history,
                               const std::vector<model::Finding>& findings);

void add(Totals& to, const Totals& from);
/// 0 for what is not in them.
[[nodiscard]] inline std::int64_t count_of(const Totals& totals, const std::string& what) {
  return totals.contains(what) ? totals.at(what) : 0;
}

/// Adds one run's findings to those of the runs before; the worst verdict stays, with its reason. A
/// run that did not exercise a guarantee says nothing of it; no more does one in which only a stall
/// explains what was late, as soon as another run is certain.
void merge(std::vector<model::Finding>& all, const std::vector<model::Finding>& one);

/// What a command answers, and what to do about a verdict that is unknown.
struct CampaignAnswer {
  model::Verdict verdict = model::Verdict::unknown;
  std::string advice = {};
};

/// The sums over the runs of a campaign, in either world.
struct Sums {
  Totals totals;                         ///< acquisitions, takeovers, extensions, ...
  sim::FaultCounts took_effect;
  std::vector<model::Finding> findings;  ///< one a guarantee, over all runs
  model::ArrowCounts arrows;               ///< of the diagrams, how often each was taken

  Sums() = default;
  Sums(const sim::RunResult& run, const Judgement& judgement)
      : totals(totals_of(run.history, judgement.findings)),
        took_effect(run.took_effect),
        findings(judgement.findings),
        arrows(judgement.arrows) {}
  void add(const Sums& other) {
    properties::add(totals, other.totals);
    properties::add(took_effect, other.took_effect);
    merge(findings, other.findings);
    model::add(arrows, other.arrows);
  }
};

/// Keeps a run as a folder that `leasehold-lab check` reads: plan.scn, history.jsonl, verdict.txt,
/// the members' `logs` and, of a worker of the user's lock, promises.json. Makes the folder; files
/// of a run before are replaced. Throws std::filesystem::filesystem_error if the folder cannot be
/// made.
void keep_run(const std::string& folder, const sim::Plan& plan, const model::History& history,
              const std::vector<model::Finding>& findings, const std::vector<std::string>& logs,
              const std::optional<model::Promises>& promises = {});

/// The promises of a kept run's lock, if it was a worker's: `history` is the folder or a file in
/// it. Throws std::runtime_error that says what is wrong with them.
[[nodiscard]] std::optional<model::Promises> kept_promises(const std::string& history);

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

// Which lock keeps which promise under which fault: the runs in both worlds, their comparison, and
// the table for people and programs.

/// "none", or a fault kind of the plan.
[[nodiscard]] std::vector<std::string> matrix_faults();
[[nodiscard]] std::vector<std::string> matrix_locks();

struct Cell {
  std::optional<model::Verdict> verdict = model::Verdict::unknown;  ///< nothing: not promised
  std::int64_t checked = 0;
  std::string why;         ///< of violated
  std::uint64_t seed = 0;  ///< of violated: the run that shows it
};
/// "holds", "violated", "unknown" or "not promised".
[[nodiscard]] const char* to_string(const Cell& cell);

/// lock, fault and guarantee to what was found.
using Matrix = std::map<std::string, std::map<std::string, std::map<model::Check, Cell>>>;

/// The plan of one run: this lock, this fault and no other, all leases equal.
[[nodiscard]] sim::Plan matrix_plan(const std::string& lock, const std::string& fault,
                                    std::uint64_t seed);

/// All cells in the virtual world, on all cores. Meanwhile `watch` gets how many rows are done, of
/// how many.
using WatchRows = std::function<void(std::size_t, std::size_t)>;
[[nodiscard]] Matrix run_matrix(std::uint64_t seeds, const WatchRows& watch = nullptr);
/// All cells on a real replica set, one run each, one after the other. Runs that broke a guarantee
/// are kept in the folder, if it has a name.
[[nodiscard]] Matrix run_live_matrix(const std::string& runs, const WatchRows& watch);

/// The first of this many virtual runs of a row in which the lock breaks the guarantee.
[[nodiscard]] std::optional<std::uint64_t> first_break(const std::string& lock,
                                                       const std::string& fault,
                                                       model::Check guarantee,
                                                       std::uint64_t seeds);

/// How the live table differs from the virtual one. Where only the live world shows a violation,
/// thousands of virtual runs look for it, too.
struct Comparison {
  std::string text;
  bool only_live = false;  ///< a violation that nobody expected
};
[[nodiscard]] Comparison compare(const Matrix& live, const Matrix& simulated);

[[nodiscard]] std::string to_markdown(const Matrix& matrix, std::uint64_t seeds);
[[nodiscard]] nlohmann::ordered_json to_json(const Matrix& matrix);

/// Whether each promised cell of this lock holds.
[[nodiscard]] bool keeps_its_promises(const Matrix& matrix, const std::string& lock);

}  // namespace leasehold::properties
