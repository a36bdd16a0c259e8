#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/spec/exploration.hpp"
#include "properties/campaigns/campaign.hpp"
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
[[nodiscard]] inline model::CheckSet not_reproduced(const Scenario& scenario,
                                                    const Judgement& judgement) {
  return scenario.reproduces.without(broken_promises(scenario.plan.lock, judgement));
}

/// "holds", or "violated G1 G2", or "unknown: why".
[[nodiscard]] std::string verdict_line(const std::string& lock, const Judgement& judgement);

/// The part below "----": the verdict of each lock, and the story of the plan's lock and of
/// `leasehold`, all run in the virtual world.
[[nodiscard]] std::string render_expectation(const Scenario& scenario);

/// The line that the file expects of this lock; empty: none.
[[nodiscard]] std::string expected_verdict(const Scenario& scenario, const std::string& lock);

/// When the first process starts: the zero of transcripts and of the run's page. 0: none does.
[[nodiscard]] std::int64_t began_ns(const model::History& history);

/// A history in words, a line an event: which process asked for, got, lost and released which lock,
/// wrote to the resource, was killed or stopped; which faults came and went; which documents went
/// without a release. Times in ms from the first process's start; processes are A, B, C; tokens
/// beyond what a person can read are T1, T2, ... in their order. `events` decided something: they
/// have a mark, and are there also if a story usually leaves them out.
[[nodiscard]] std::vector<std::string> transcript(const model::History& history,
                                                  const std::vector<model::Index>& events = {});

/// The part in which these events decided something: the events of their lock from the first of
/// them to the last, and of their processes; with the writes of its document and the answers of
/// holders. The events themselves have a mark.
[[nodiscard]] std::vector<std::string> transcript_of(const model::History& history,
                                                     const std::vector<model::Index>& events);

/// The name that a transcript gives to a process: "p1.2" is B.
[[nodiscard]] std::string short_name(const std::string& process);

/// The text with the names that a transcript gives to the processes.
[[nodiscard]] std::string with_short_names(const std::string& text);

/// A lease of the abstract lock has two ticks; this is one in a story.
inline constexpr std::int64_t kTick_ms = 500;

/// From the abstract lock to the real one: turns a counterexample of the explorer into a story for
/// both worlds. The plan has the same asks, releases, deaths, failovers and passes of the TTL
/// monitor at the same times, and links that make each message as late as in the counterexample.
/// The lock itself decides when it tries again, extends, cleans up and gives up waiting for an
/// answer. So a sound lock survives what breaks a variant, and a lock with the variant's error
/// mostly breaks.
///
/// The lock also plays a client of the .NET package.
[[nodiscard]] sim::Plan counterexample_plan(const model::Scope& scope,
                                            const std::vector<model::Taken>& way,
                                            const std::string& lock);

}  // namespace leasehold::properties
