#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "model/workers/worker_judge.hpp"
#include "properties/campaigns/floors.hpp"
#include "properties/campaigns/run_folder.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report/report.hpp"
#include "scenarios/lab/report/run_page.hpp"

namespace leasehold::lab {
namespace {

std::optional<model::Promises> promises_of(const std::string& history) {
  try {
    return properties::kept_promises(history);
  } catch (const std::exception& error) {
    throw UsageError("the promises beside '" + history + "': " + error.what());
  }
}

/// Only histories of our own locks have the commands that were sent.
bool is_of_a_worker(const model::History& history) {
  const auto has = [&](model::Kind kind) {
    return std::any_of(history.begin(), history.end(),
                       [&](const model::Event& e) { return e.kind == kind; });
  };
  return has(model::Kind::granted) && !has(model::Kind::send);
}

}  // namespace

model::History read_history(const std::string& file) {
  std::ifstream in(file);
  if (in && in.peek() == std::char_traits<char>::eof()) in.setstate(std::ios::failbit);
  if (!in) in = std::ifstream(file + "/history.jsonl");
  if (!in) throw UsageError("history is '" + file + "': it must be a file that can be read");
  try {
    return model::read(in);
  } catch (const std::exception& error) {
    throw UsageError("history '" + file + "': " + error.what());
  }
}

int check(const std::vector<std::string>& words) {
  std::string file, json_file, junit_file, page_file;
  bool schema = false;
  po::options_description options("Checks a recorded history (JSON Lines) again. Options");
  options.add_options()("history", po::value(&file), "the history, or the folder of a kept run")(
      "schema", po::bool_switch(&schema), "print the JSON Schema of a history's line, and end")(
      "json", po::value(&json_file)->value_name("FILE"), "write the findings as JSON")(
      "junit", po::value(&junit_file)->value_name("FILE"), "write the findings as JUnit XML")(
      "report", po::value(&page_file)->value_name("FILE"), "write the run as a page");
  parse("check HISTORY [OPTIONS]", options, words,
        po::positional_options_description().add("history", 1));
  if (schema) {
    fmt::print("{}", model::history_schema());
    return 0;
  }
  if (file.empty()) throw UsageError("history is missing: it must be a file or a run's folder");
  require_writable("json", json_file);
  require_writable("junit", junit_file);
  require_writable("report", page_file);
  const auto history = read_history(file);
  const auto promises = promises_of(file);
  if (!promises && is_of_a_worker(history)) {
    throw UsageError("history '" + file +
                     "' is of a worker: its promises.json must stand beside it");
  }
  const auto [findings, arrows] = properties::judge(history, promises);
  const auto failure = model::harness_failure(history);
  const auto verdict = ending_of(model::overall(findings), failure);
  fmt::print("{} events\n{}{}", history.size(), table(findings),
             story(findings, history, promises.has_value()));
  if (promises) {
    fmt::print("{}: {}\n", promises->name, fmt::join(model::left_out(*promises), ", "));
  }
  if (!failure.empty()) fmt::print("harness failure: {}\n", failure);
  const auto advice =
      properties::advice(findings, {.harness_failure = failure,
                                    .stood_still = properties::stalls_in(history).mostly(),
                                    .see_more = "check a run that does more"});
  if (!advice.empty()) fmt::print("{}\n", advice);
  fmt::print("verdict: {}\n", verdict.word);
  nlohmann::ordered_json json;
  json["history"] = file;
  json["events"] = history.size();
  for (const auto& [key, count] : properties::totals_of(history, findings)) json[key] = count;
  json["guarantees"] = guarantees_json(findings);
  if (!promises) json["arrows"] = arrows_json(arrows);
  if (!advice.empty()) json["advice"] = advice;
  json["verdict"] = verdict.word;
  write_json(json_file, json);
  write_junit(junit_file, {"check", 0, failure, advice}, findings);
  write_report(page_file, history, promises, advice);
  return verdict.exit_code;
}

}  // namespace leasehold::lab
