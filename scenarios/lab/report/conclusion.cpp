#include "scenarios/lab/report/conclusion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "model/workers/worker_judge.hpp"
#include "scenarios/lab/report/run_page.hpp"

namespace leasehold::lab {

void Outputs::add_to(po::options_description& options) {
  options.add_options()("json", po::value(&json)->value_name("FILE"), "write the report as JSON")(
      "junit", po::value(&junit)->value_name("FILE"), "write the report as JUnit XML");
}

void Outputs::add_page(po::options_description& options, const char* help) {
  options.add_options()("report", po::value(&page)->value_name("FILE"), help);
}

void Outputs::require_writable() const {
  lab::require_writable("json", json);
  lab::require_writable("junit", junit);
  lab::require_writable("report", page);
  lab::require_writable("summary", summary);
  lab::require_writable("history", history);
}

void Conclusion::is_of(const std::optional<model::Promises>& worker,
                       const sim::ArrowCounts& taken) {
  promises = worker;
  if (worker) {
    left_out = model::left_out(*worker);
  } else {
    arrows = taken;
  }
}

std::string findings_text(const Conclusion& c) {
  auto text = table(c.findings);
  if (c.arrows) text += "\n" + arrows_table(*c.arrows);
  if (c.promises) text += fmt::format("{}: {}\n", c.promises->name, fmt::join(c.left_out, ", "));
  return text;
}

int conclude(const Conclusion& c, const Outputs& outputs, const model::History& shown) {
  const auto ending = ending_of(c.verdict, c.harness_failure);
  if (!c.harness_failure.empty()) fmt::print("harness failure: {}\n", c.harness_failure);
  if (!c.advice.empty()) fmt::print("{}\n", c.advice);
  fmt::print("verdict: {}\n", ending.word);
  auto json = c.facts;
  json["guarantees"] = guarantees_json(c.findings);
  if (c.arrows) json["arrows"] = arrows_json(*c.arrows);
  if (c.promises) json["left_out"] = c.left_out;
  if (!c.repeat.empty()) json["repeat"] = c.repeat;
  if (!c.harness_failure.empty()) json["harness_failure"] = c.harness_failure;
  if (!c.advice.empty()) json["advice"] = c.advice;
  json["verdict"] = ending.word;
  write_report(outputs.page, shown, c.promises, c.advice);
  append_summary(outputs.summary, to_markdown(c));
  write_json(outputs.json, json);
  write_junit(outputs.junit, {c.command, c.seconds, c.harness_failure, c.advice}, c.findings);
  if (!outputs.history.empty()) {
    std::ofstream out(outputs.history);
    model::write(out, shown);
    if (!out.flush()) throw std::runtime_error("cannot write " + outputs.history);
  }
  return ending.exit_code;
}

}  // namespace leasehold::lab
