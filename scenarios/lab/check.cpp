#include <fmt/format.h>

#include <fstream>

#include "properties/verify.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report.hpp"
#include "scenarios/lab/run_page.hpp"

namespace leasehold::lab {

int check(const std::vector<std::string>& words) {
  std::string file, json_file, junit_file, page_file;
  po::options_description options("Checks a recorded history (JSON Lines) again. Options");
  options.add_options()("history", po::value(&file)->required(),
                        "the history, or the folder of a kept run")(
      "json", po::value(&json_file)->value_name("FILE"), "write the findings as JSON")(
      "junit", po::value(&junit_file)->value_name("FILE"), "write the findings as JUnit XML")(
      "report", po::value(&page_file)->value_name("FILE"), "write the run as a page");
  parse("check HISTORY [OPTIONS]", options, words,
        po::positional_options_description().add("history", 1));
  require_writable("json", json_file);
  require_writable("junit", junit_file);
  require_writable("report", page_file);
  std::ifstream in(file);
  if (in && in.peek() == std::char_traits<char>::eof()) in.setstate(std::ios::failbit);
  if (!in) in = std::ifstream(file + "/history.jsonl");
  if (!in) throw UsageError("history is '" + file + "': it must be a file that can be read");
  model::History history;
  try {
    history = model::read(in);
  } catch (const std::exception& error) {
    throw UsageError("history '" + file + "': " + error.what());
  }
  const auto [findings, arrows] = properties::judge(history);
  const auto failure = model::harness_failure(history);
  const auto verdict = ending_of(model::overall(findings), failure);
  fmt::print("{} events\n{}{}", history.size(), table(findings), story(findings, history));
  if (!failure.empty()) fmt::print("harness failure: {}\n", failure);
  fmt::print("verdict: {}\n", verdict.word);
  nlohmann::ordered_json json;
  json["history"] = file;
  json["events"] = history.size();
  for (const auto& [key, count] : properties::totals_of(history, findings)) json[key] = count;
  json["guarantees"] = guarantees_json(findings);
  json["arrows"] = arrows_json(arrows);
  json["verdict"] = verdict.word;
  write_json(json_file, json);
  write_junit(junit_file, {"check", 0, failure}, findings);
  write_report(page_file, history);
  return verdict.exit_code;
}

}  // namespace leasehold::lab
