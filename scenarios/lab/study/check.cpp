#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "properties/campaigns/floors.hpp"
#include "properties/campaigns/judgement.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report/conclusion.hpp"

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
  std::string file;
  Outputs outputs;
  bool schema = false;
  po::options_description options("Checks a recorded history (JSON Lines) again. Options");
  options.add_options()("history", po::value(&file), "the history, or the folder of a kept run")(
      "schema", po::bool_switch(&schema), "print the JSON Schema of a history's line, and end");
  outputs.add_to(options);
  outputs.add_page(options, "write the run as a page");
  parse("check HISTORY [OPTIONS]", options, words,
        po::positional_options_description().add("history", 1));
  if (schema) {
    fmt::print("{}", model::history_schema());
    return 0;
  }
  if (file.empty()) throw UsageError("history is missing: it must be a file or a run's folder");
  outputs.require_writable();
  const auto history = read_history(file);
  const auto promises = promises_of(file);
  if (!promises && is_of_a_worker(history)) {
    throw UsageError("history '" + file +
                     "' is of a worker: its promises.json must stand beside it");
  }
  const auto [findings, arrows] = properties::judge(history, promises);
  Conclusion c{.command = "check",
               .findings = findings,
               .verdict = model::overall(findings),
               .harness_failure = model::harness_failure(history),
               .facts = {{"history", file}, {"events", history.size()}}};
  c.is_of(promises, arrows);
  for (const auto& [key, count] : properties::totals_of(history, findings)) c.facts[key] = count;
  c.advice = properties::advice(findings,
                                {.harness_failure = c.harness_failure,
                                 .stood_still = properties::stalls_in(history).mostly(),
                                 .see_more = "check a run that does more"});
  fmt::print("{} events\n{}{}", history.size(), findings_text(c),
             story(findings, history, promises.has_value()));
  return conclude(c, outputs, history);
}

}  // namespace leasehold::lab
