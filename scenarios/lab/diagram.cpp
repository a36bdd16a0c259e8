#include <fmt/format.h>

#include "model/transition_table.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report.hpp"

namespace leasehold::lab {

int diagram(const std::vector<std::string>& words) {
  std::string name, json_file;
  po::options_description options("Prints the diagrams in Mermaid. Options");
  options.add_options()("table", po::value(&name), "lifecycle, document or flowchart; default all")(
      "json", po::value(&json_file)->value_name("FILE"), "write the arrows as JSON");
  parse("diagram [TABLE] [OPTIONS]", options, words,
        po::positional_options_description().add("table", 1));
  require_writable("json", json_file);
  nlohmann::ordered_json json;
  bool found = name.empty();
  for (const auto* table : model::all_tables()) {
    if (!name.empty() && table->name() != name) continue;
    found = true;
    fmt::print("{}", model::to_mermaid(*table));
    for (const auto& arrow : table->arrows()) {
      json[std::string(table->name())].push_back(
          {{"from", arrow.from},
           {"input", arrow.input},
           {"to", arrow.to},
           {"source", arrow.source == model::Source::document ? "document" : "reality"},
           {"reason", arrow.reason}});
    }
  }
  if (!found) {
    throw UsageError("table is '" + name + "': it must be lifecycle, document or flowchart");
  }
  write_json(json_file, json);
  return kHolds;
}

}  // namespace leasehold::lab
