#pragma once

#include <string>
#include <vector>

namespace leasehold::bench {

/// `leasehold-bench contend`: measures, and writes CSV and JSON into a folder. Returns the exit
/// code. Throws cli::UsageError, cli::HelpAsked, NoMongod or std::runtime_error.
int contend(const std::vector<std::string>& words);

/// `leasehold-bench strategies`: the names, a line each.
int list_strategies(const std::vector<std::string>& words);

}  // namespace leasehold::bench
