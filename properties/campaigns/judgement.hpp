#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/spec/diagrams.hpp"
#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"
#include "sim/plan/plan.hpp"
#include "sim/world.hpp"

/// What is checked in a run, in either world, and the sums over many runs.
namespace leasehold::properties {

/// The reason of a finding that is unknown because the harness could not read what was written.
inline constexpr const char* kNotRead = "the server's oplog was not read to its end";

/// The guarantees, and whether every step is an arrow of the diagrams.
struct Judgement {
  std::vector<model::Finding> findings;
  model::ArrowCounts arrows;
};
[[nodiscard]] Judgement judge(const model::History& history);
/// With promises it is a run of a worker of the user's lock, which has no diagrams.
[[nodiscard]] Judgement judge(const model::History& history,
                              const std::optional<model::Promises>& promises);

/// "stalls 3, pauses 1".
[[nodiscard]] std::string excuses_of(const model::Finding& finding);
/// The percentage of its checks that were excused.
[[nodiscard]] double excused_percent(const model::Finding& finding);

/// How the machine and the members stood still.
struct Stalls {
  std::int64_t longest_ns = 0;  ///< of the machine or a member; 0: none of note
  std::string victim;           ///< of the longest
  std::int64_t machine_ns = 0;  ///< the machine, in all ...
  std::int64_t run_ns = 0;      ///< ... of this time
  void add(const Stalls& other);
  [[nodiscard]] double machine_percent() const;
  /// Whether the machine stood still for more than half of the time: then nothing is certain.
  [[nodiscard]] bool mostly() const { return machine_percent() > 50; }
};
[[nodiscard]] Stalls stalls_in(const model::History& history);
/// "1900 ms (member-1); the machine stood still for 2.5 % of the time".
[[nodiscard]] std::string to_string(const Stalls& stalls);

/// What a run certainly broke.
[[nodiscard]] model::CheckSet violated(const std::vector<model::Finding>& findings);
/// The first of them in the order of the table.
[[nodiscard]] std::optional<model::Check> first_violated(
    const std::vector<model::Finding>& findings);

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
[[nodiscard]] std::int64_t count_of(const Totals& totals, const std::string& what);

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
  Sums(const sim::RunResult& run, const Judgement& judgement);
  void add(const Sums& other);
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

}  // namespace leasehold::properties
