#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "properties/campaigns/judgement.hpp"
#include "sim/plan/plan.hpp"

/// Failure stories: a `.scn` file with a comment that says what fails and why, a scripted plan, and
/// below a line "----" the expected result in the virtual world, byte for byte.
namespace leasehold::properties {

struct Scenario {
  std::filesystem::path file;
  std::string name;                ///< of the file, which states the failure
  std::string group;               ///< its folder
  std::string about;               ///< the comment before the plan
  std::vector<std::string> locks;  ///< of the story: "# locks: ..."; none: all five
  /// The promises that the plan's lock breaks in it, by the story's author: "# reproduces: G2".
  model::CheckSet reproduces;
  sim::Plan plan;        ///< its `lock` is the one that the story is about
  std::string head;      ///< the file up to "----"
  std::string expected;  ///< the rest
};

/// Throws std::runtime_error that names the file and what is wrong.
[[nodiscard]] Scenario read_scenario(const std::filesystem::path& file);
/// All scenarios below a folder, with steps written by a person, by group and name.
[[nodiscard]] std::vector<Scenario> read_scenarios(const std::filesystem::path& folder);

/// The plan without the failure: no faults, and no steps that are the fault.
[[nodiscard]] sim::Plan without_fault(sim::Plan plan);

/// The promises that a lock did not keep.
[[nodiscard]] model::CheckSet broken_promises(const std::string& lock, const Judgement& judgement);

/// The guarantees that the story has to break and its lock kept; empty: it reproduces all.
[[nodiscard]] model::CheckSet not_reproduced(const Scenario& scenario,
                                             const Judgement& judgement);

/// "holds", or "violated G1 G2", or "unknown: why".
[[nodiscard]] std::string verdict_line(const std::string& lock, const Judgement& judgement);

/// The part below "----": the verdict of each lock, and the story of the plan's lock and of
/// `leasehold`, all run in the virtual world.
[[nodiscard]] std::string render_expectation(const Scenario& scenario);

/// The line that the file expects of this lock; empty: none.
[[nodiscard]] std::string expected_verdict(const Scenario& scenario, const std::string& lock);

}  // namespace leasehold::properties
