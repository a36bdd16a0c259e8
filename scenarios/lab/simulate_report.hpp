#pragma once

#include <nlohmann/json.hpp>

#include "properties/simulate.hpp"

/// A campaign's report on the terminal and in a file, whole enough that shards can be joined.
namespace leasehold::lab {

void print_report(const properties::SimulateReport& report, double cpu_seconds);

[[nodiscard]] nlohmann::ordered_json report_json(const properties::SimulateReport& report,
                                                 double cpu_seconds);

/// Throws nlohmann::json::exception for anything that `report_json` does not write.
[[nodiscard]] properties::SimulateReport report_from_json(const nlohmann::json& json);

}  // namespace leasehold::lab
