#include <fmt/format.h>

#include <fstream>

#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report.hpp"
#include "scenarios/lab/simulate_report.hpp"

namespace leasehold::lab {
namespace {

nlohmann::json read_json(const std::string& file) {
  auto json = nlohmann::json::parse(read_file("report", file), nullptr, false);
  if (json.is_discarded()) throw UsageError("report is '" + file + "': it is not JSON");
  return json;
}

}  // namespace

int merge(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  std::string json_file, junit_file;
  po::options_description options("Joins the JSON of `simulate --shard`. Options");
  options.add_options()("reports", po::value(&files),
                        "the files that the shards wrote with --json")(
      "json", po::value(&json_file)->value_name("FILE"), "write the total as JSON")(
      "junit", po::value(&junit_file)->value_name("FILE"), "write the total as JUnit XML");
  parse("merge FILE... [OPTIONS]", options, words,
        po::positional_options_description().add("reports", -1));
  if (files.empty())
    throw UsageError("merge needs at least one report: leasehold-lab merge --help");
  require_writable("json", json_file);
  require_writable("junit", junit_file);
  properties::SimulateReport all;
  auto verdict = model::Verdict::holds;
  double cpu = 0;
  bool hashed = true;
  for (const auto& file : files) {
    const auto json = read_json(file);
    try {
      all.add(report_from_json(json));
      cpu += json.at("cpu_seconds").get<double>();
      hashed = hashed && json.contains("history_hash");
      // A shard that parted from its own repetition is violated with every guarantee kept.
      const auto word = json.at("verdict").get<std::string>();
      if (word == to_string(model::Verdict::violated)) verdict = model::Verdict::violated;
    } catch (const std::exception& error) {
      throw UsageError("report is '" + file + "': " + error.what());
    }
  }
  properties::require_checked(all.findings);
  if (verdict == model::Verdict::holds) verdict = all.verdict();
  print_report(all, std::max(cpu, 1e-9));
  return conclude(all, {std::max(cpu, 1e-9), verdict, hashed}, json_file, junit_file);
}

}  // namespace leasehold::lab
