#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "properties/campaigns/matrix.hpp"

/// The matrix: its runs in both worlds, their comparison, and the table for people and programs.
namespace leasehold::lab {

/// All cells, on all cores. Meanwhile `watch` gets how many rows are done, of how many.
[[nodiscard]] properties::Matrix run_matrix(
    std::uint64_t seeds, const std::function<void(std::size_t, std::size_t)>& watch = nullptr);

/// All cells on a real replica set, one run each, one after the other. Runs that broke a guarantee
/// are kept in the folder, if it has a name.
[[nodiscard]] properties::Matrix run_live_matrix(
    const std::string& runs, const std::function<void(std::size_t, std::size_t)>& done);

/// How the live table differs from the virtual one.
struct Comparison {
  int agree_to_hold = 0, seen_in_both = 0;
  int only_virtual = 0;           ///< violations that one live run did not happen to show
  std::vector<std::string> rare;  ///< violations that only many more virtual runs show
  std::vector<std::string> listed, only_live;  ///< violations that only the live world shows
};
/// Where only the live world shows a violation, thousands of virtual runs look for it, too.
[[nodiscard]] Comparison compare(const properties::Matrix& live,
                                 const properties::Matrix& simulated);

[[nodiscard]] std::string to_markdown(const properties::Matrix& matrix, std::uint64_t seeds);
[[nodiscard]] nlohmann::ordered_json to_json(const properties::Matrix& matrix);

/// Whether each promised cell of this lock holds.
[[nodiscard]] bool keeps_its_promises(const properties::Matrix& matrix, const std::string& lock);

}  // namespace leasehold::lab
