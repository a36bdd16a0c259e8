#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"
#include "sim/conformance/conformance.hpp"

/// What is checked in a run, in either world, and the sums over many runs.
namespace leasehold::properties {

/// The guarantees, and whether every step is an arrow of the diagrams.
struct Judgement {
  std::vector<model::Finding> findings;
  sim::ArrowCounts arrows;
};
[[nodiscard]] Judgement judge(const model::History& history);
/// `facts`: the history's own.
[[nodiscard]] Judgement judge(const model::History& history, model::Facts facts);
/// With promises it is a run of a worker of the user's lock, which has no diagrams.
[[nodiscard]] Judgement judge(const model::History& history,
                              const std::optional<model::Promises>& promises);

/// A guarantee with 0 checks does not hold: it is unknown.
void require_checked(std::vector<model::Finding>& findings);

/// "stalls 3, pauses 1".
[[nodiscard]] std::string excuses_of(const model::Finding& finding);

/// The longest time that the machine or a member stood still, and its name; 0: none of note.
struct Stall {
  std::int64_t ns = 0;
  std::string victim;
};
[[nodiscard]] Stall longest_stall(const model::History& history);
/// "1900 ms (machine)".
[[nodiscard]] std::string to_string(const Stall& stall);

/// The guarantee that a run broke, the first in the order of the table; none: nothing is certain.
[[nodiscard]] std::optional<model::Check> first_violated(
    const std::vector<model::Finding>& findings);

/// Whether the guarantee is violated.
[[nodiscard]] bool breaks(const Judgement& judgement, model::Check check);

using Totals = std::map<std::string, std::int64_t>;

/// Counts that a history alone shows: acquisitions, takeovers, extensions, ...
[[nodiscard]] Totals totals_of(const model::History& history,
                               const std::vector<model::Finding>& findings);

void add(Totals& to, const Totals& from);

/// Adds one run's findings to those of the runs before; the worst verdict stays, with its reason. A
/// run that did not exercise a guarantee says nothing of it.
void merge(std::vector<model::Finding>& all, const std::vector<model::Finding>& one);

}  // namespace leasehold::properties
