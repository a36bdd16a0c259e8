#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/campaigns/simulate.hpp"

/// Which lock keeps which promise under which fault, by runs in the virtual world.
namespace leasehold::properties {

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

/// One lock under one fault: what `seeds` runs show of each guarantee. `run` is a world.
using RunPlan = std::function<Judgement(const sim::Plan&)>;
[[nodiscard]] std::map<model::Check, Cell> run_row(const std::string& lock,
                                                   const std::string& fault,
                                                   std::uint64_t seeds, const RunPlan& run);

/// The first of this many virtual runs of a row in which the lock breaks the guarantee.
[[nodiscard]] std::optional<std::uint64_t> first_break(const std::string& lock,
                                                       const std::string& fault,
                                                       model::Check guarantee,
                                                       std::uint64_t seeds);

/// A cell in which the live world may show a violation that the virtual one does not, and the
/// mechanism that makes the difference. Written down before a run.
struct LiveDifference {
  std::string_view lock;
  model::Check guarantee;
  std::string_view mechanism;
};
[[nodiscard]] const std::vector<LiveDifference>& live_differences();

}  // namespace leasehold::properties
