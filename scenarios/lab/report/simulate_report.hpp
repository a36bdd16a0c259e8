#pragma once

#include <string>

#include "properties/campaigns/simulate.hpp"

/// A campaign's report on the terminal and in a file.
namespace leasehold::lab {

void print_report(const properties::SimulateReport& report, double cpu_seconds);

struct Conclusion {
  double cpu_seconds = 0;
  model::Verdict verdict = model::Verdict::unknown;
  bool hashed = false;
};
/// Prints hash and verdict, and writes the files with a name; returns the exit code.
int conclude(const properties::SimulateReport& report, const Conclusion& conclusion,
             const std::string& json_file, const std::string& junit_file);

}  // namespace leasehold::lab
