#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "properties/campaigns/verify.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {

model::History read_history(const std::string& file) {
  std::ifstream in(file);
  if (in && in.peek() == std::char_traits<char>::eof()) in.setstate(std::ios::failbit);
  if (!in) in = std::ifstream(file + "/history.jsonl");
  if (!in) refuse("history", file, "it must be a file that can be read");
  return reading("history '" + file + "': ", [&] { return model::read(in); });
}

int check(const std::vector<std::string>& words) {
  std::string file;
  Outputs outputs;
  bool schema = false;
  po::options_description options("Checks a recorded history (JSON Lines) again. Options");
  options.add_options()("history", po::value(&file), "the history, or the folder of a kept run")(
      "schema", po::bool_switch(&schema), "print the JSON Schema of a history's line, and end");
  outputs.add_to(options, "write the run as a page");
  parse("check HISTORY [OPTIONS]", options, words,
        po::positional_options_description().add("history", 1));
  if (schema) {
    fmt::print("{}", model::history_schema());
    return 0;
  }
  if (file.empty()) throw UsageError("history is missing: it must be a file or a run's folder");
  const auto history = read_history(file);
  const auto promises = reading("the promises beside '" + file + "': ",
                                [&] { return properties::kept_promises(file); });
  const auto has = [&](model::Kind kind) {
    return std::ranges::count(history, kind, &model::Event::kind) > 0;
  };
  // Only histories of our own locks have the commands that were sent.
  if (!promises && has(model::Kind::granted) && !has(model::Kind::send)) {
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
  c.advice = properties::answer(findings,
                                {.harness_failure = c.harness_failure,
                                 .stood_still = properties::stalls_in(history).mostly(),
                                 .see_more = "check a run that does more"})
                 .advice;
  fmt::print("{} events\n{}{}", history.size(), findings_text(c),
             story(findings, history, promises.has_value()));
  return conclude(c, outputs, history);
}

int export_history(const std::vector<std::string>& words) {
  std::string file, out_file;
  po::options_description options(
      "Writes the operations of a recorded history's locks as JSON, for Porcupine or another "
      "linearizability checker. Options");
  options.add_options()("history", po::value(&file)->required(),
                        "the history, or the folder of a kept run")(
      "out", to_file("out", out_file), "where to; standard output otherwise");
  parse("export HISTORY [OPTIONS]", options, words,
        po::positional_options_description().add("history", 1));
  const auto history = read_history(file);
  if (history.empty()) throw UsageError("history '" + file + "': it has no event");
  write_file(out_file, [&](std::ostream& out) { write_operations(out, history); });
  if (!out_file.empty()) return kHolds;
  write_operations(std::cout, history);
  return std::cout.flush() ? kHolds : kHarnessFailure;
}

}  // namespace leasehold::lab
