#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "properties/campaigns/simulate.hpp"

/// Which lock keeps which promise under which fault: the runs in both worlds, their comparison, and
/// the table for people and programs.
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
