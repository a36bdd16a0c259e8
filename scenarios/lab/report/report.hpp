#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/verdict/checkers.hpp"
#include "sim/conformance/conformance.hpp"

namespace leasehold::lab {

/// {"G1": {"verdict": "holds", "checked": 12, "floor": 10, ...}, ...}
[[nodiscard]] nlohmann::ordered_json guarantees_json(const std::vector<model::Finding>& findings);

/// {"lifecycle": {"Waiting --Give Up--> [*]": 12, ...}, ...}
[[nodiscard]] nlohmann::ordered_json arrows_json(const sim::ArrowCounts& taken);

/// How often each published arrow was taken, and which never.
[[nodiscard]] std::string arrows_table(const sim::ArrowCounts& taken);

/// "12,054 checks, 13.8 % excused".
[[nodiscard]] std::string checks_of(const model::Finding& finding);

/// The table of guarantees, for a terminal.
[[nodiscard]] std::string table(const std::vector<model::Finding>& findings);

/// The first violation's events, as in the history. For a worker, because users see no commands:
/// what happened between its users, in words and in ms from the start of the run.
[[nodiscard]] std::string story(const std::vector<model::Finding>& findings,
                                const model::History& history, bool of_a_worker = false);

/// Writes `json` unless the file's name is empty.
void write_json(const std::string& file, const nlohmann::ordered_json& json);

struct JunitSuite {
  std::string name;
  double seconds = 0;
  std::string harness_failure = {};  ///< reported as an error, unless it is empty
  std::string advice = {};           ///< what to do about cases that are unknown
};
struct JunitCase {
  std::string name;
  model::Verdict verdict = model::Verdict::holds;
  std::string why = {};  ///< unless it holds
  bool skipped = false;  ///< no failure, if only a stall explains it
  std::string checks = {};
};
/// Writes nothing if the file's name is empty.
void write_junit(const std::string& file, const JunitSuite& suite,
                 const std::vector<JunitCase>& cases);
/// Writes a test case for each finding.
void write_junit(const std::string& file, const JunitSuite& suite,
                 const std::vector<model::Finding>& findings);

/// The verdict in words and as an exit code. A harness failure never holds, and is more than
/// unknown; a certain violation stays one.
struct Ending {
  std::string word;
  int exit_code;
};
[[nodiscard]] Ending ending_of(model::Verdict verdict, const std::string& harness_failure = "");

[[nodiscard]] int exit_code(model::Verdict verdict);

}  // namespace leasehold::lab
