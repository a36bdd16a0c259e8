#include <fmt/format.h>

#include "model/spec/diagrams.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {

int diagram(const std::vector<std::string>& words) {
  std::string name;
  po::options_description options("Prints the diagrams in Mermaid. Options");
  options.add_options()("table", po::value(&name), "lifecycle, document or flowchart; default all");
  parse("diagram [TABLE] [OPTIONS]", options, words,
        po::positional_options_description().add("table", 1));
  bool found = name.empty();
  for (const auto* table : model::all_tables()) {
    if (!name.empty() && table->name() != name) continue;
    found = true;
    fmt::print("{}", model::to_mermaid(*table));
  }
  if (!found) {
    throw UsageError("table is '" + name + "': it must be lifecycle, document or flowchart");
  }
  return kHolds;
}

}  // namespace leasehold::lab
