#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/checkers.hpp"
#include "sim/conformance/conformance.hpp"

namespace leasehold::lab {

/// {"G1": {"verdict": "holds", "checked": 12, "floor": 10, ...}, ...}
[[nodiscard]] nlohmann::ordered_json guarantees_json(const std::vector<model::Finding>& findings);

/// {"lifecycle": {"Waiting --Give Up--> [*]": 12, ...}, ...}
[[nodiscard]] nlohmann::ordered_json arrows_json(const sim::ArrowCounts& taken);

/// Which arrows of the documents were taken how often, and which never.
[[nodiscard]] std::string arrows_table(const sim::ArrowCounts& taken);

/// The table of guarantees, for a terminal.
[[nodiscard]] std::string table(const std::vector<model::Finding>& findings);

/// The first violation's events, as they stand in the history.
[[nodiscard]] std::string story(const std::vector<model::Finding>& findings,
                                const model::History& history);

/// Writes `json` unless the file's name is empty.
void write_json(const std::string& file, const nlohmann::ordered_json& json);

/// Writes a JUnit report: a test case a guarantee; unless the file's name is empty.
void write_junit(const std::string& file, const std::string& suite, double seconds,
                 const std::vector<model::Finding>& findings);

[[nodiscard]] int exit_code(model::Verdict verdict);

}  // namespace leasehold::lab
