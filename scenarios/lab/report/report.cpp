#include "scenarios/lab/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <pugixml.hpp>

#include "model/history/from_outside.hpp"
#include "properties/campaigns/judgement.hpp"
#include "properties/stories/transcript.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

using model::Finding;
using model::Verdict;

/// pugixml escapes text, but XML has no name for control characters, and pugixml would write
/// numbers that no parser takes.
void set_attribute(pugi::xml_node node, const char* name, const std::string& given) {
  auto text = model::valid_utf8(given);
  const auto odd = [](unsigned char c) { return c < ' ' && c != '\n' && c != '\t'; };
  std::replace_if(text.begin(), text.end(), odd, '?');
  node.append_attribute(name) = text.c_str();
}

/// A test case: passed without a `problem`, which is JUnit's word for its result.
pugi::xml_node add_case(pugi::xml_node suite, const std::string& name, const std::string& problem,
                        const std::string& message) {
  auto one = suite.append_child("testcase");
  set_attribute(one, "classname", suite.attribute("name").value());
  set_attribute(one, "name", name);
  if (!problem.empty()) set_attribute(one.append_child(problem.c_str()), "message", message);
  return one;
}

std::string problem_of(const JunitCase& one) {
  if (one.verdict == Verdict::holds) return "";
  return one.skipped ? "skipped" : "failure";
}

std::string in_thousands(std::int64_t count) {
  auto text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

}  // namespace

std::string checks_of(const Finding& finding) {
  return fmt::format("{} checks, {:.1f} % excused", in_thousands(finding.checked),
                     properties::excused_percent(finding));
}

nlohmann::ordered_json guarantees_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json json;
  for (const Finding& f : findings) {
    auto& one = json[to_string(f.check)];
    one["statement"] = about(f.check).statement;
    one["verdict"] = to_string(f.verdict);
    one["checked"] = f.checked;
    one["floor"] = f.floor;
    if (f.violations > 0) one["violations"] = f.violations;
    for (std::size_t i = 0; i < model::kExcuses.size(); ++i) {
      if (f.excused[i] > 0) one["excused"][model::kExcuses[i]] = f.excused[i];
    }
    one["excused_percent"] = properties::excused_percent(f);
    if (!f.why.empty()) one["why"] = f.why;
    for (const auto& [key, count] : f.counts) one[key] = count;
  }
  return json;
}

nlohmann::ordered_json arrows_json(const sim::ArrowCounts& taken) {
  nlohmann::ordered_json json;
  for (const auto* table : model::all_tables()) {
    const auto counts = taken.find(std::string(table->name()));
    for (std::size_t i = 0; counts != taken.end() && i < table->arrows().size(); ++i) {
      json[counts->first][table->arrows()[i].name()] = counts->second.at(i);
    }
  }
  return json;
}

std::string arrows_table(const sim::ArrowCounts& taken) {
  std::string out;
  for (const auto* table : model::all_tables()) {
    const auto counts = taken.find(std::string(table->name()));
    if (counts == taken.end()) continue;
    std::int64_t steps = 0, arrows = 0;
    for (const auto count : counts->second) {
      steps += count;
      arrows += count > 0 ? 1 : 0;
    }
    out += fmt::format("{}: {} steps over {} of {} arrows\n", table->name(), steps, arrows,
                       table->arrows().size());
  }
  for (const auto& name : sim::never_taken(taken)) out += "  never taken: " + name + '\n';
  return out;
}

std::string table(const std::vector<Finding>& findings) {
  std::string out = fmt::format("{:<15} {:<9} {:>9} {:>8} {:>7}  {}\n", "", "verdict", "checked",
                                "excused", "floor", "guarantee");
  for (const Finding& f : findings) {
    out += fmt::format("{:<15} {:<9} {:>9} {:>6.1f} % {:>7}  {}\n", to_string(f.check),
                       to_string(f.verdict), f.checked, properties::excused_percent(f), f.floor,
                       about(f.check).statement);
    if (f.verdict != Verdict::holds) out += fmt::format("{:>52}  {}\n", "!", f.why);
  }
  for (const Finding& f : findings) {
    if (f.all_excused() == 0) continue;
    out += fmt::format("{:<15} excused: {}\n", to_string(f.check), properties::excuses_of(f));
  }
  return out;
}

std::string story(const std::vector<Finding>& findings, const model::History& history,
                  bool of_a_worker) {
  std::string out;
  for (const Finding& f : findings) {
    if (f.verdict != Verdict::violated) continue;
    const auto why = of_a_worker ? properties::with_short_names(f.why) : f.why;
    out += fmt::format("{} violated: {}\n", to_string(f.check), why);
    if (of_a_worker) {
      for (const auto& line : properties::transcript_of(history, f.events)) out += line + '\n';
      continue;
    }
    for (const auto i : f.events) {
      if (i >= history.size()) continue;
      const auto& e = history[i];
      const bool died = e.kind == model::Kind::exit;  // its words have many lines
      out += "  line " + std::to_string(i + 1) + ": " +
             (died ? describe_exit(e) + ":\n" + e.message.str() : to_json(e)) + '\n';
    }
  }
  return out;
}

void write_json(const std::string& file, const nlohmann::ordered_json& json) {
  if (file.empty()) return;
  std::ofstream out(file);
  // A file's name need not be text.
  out << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

void write_junit(const std::string& file, const JunitSuite& suite,
                 const std::vector<JunitCase>& cases) {
  if (file.empty()) return;
  pugi::xml_document xml;
  auto declaration = xml.append_child(pugi::node_declaration);
  set_attribute(declaration, "version", "1.0");
  set_attribute(declaration, "encoding", "UTF-8");
  auto all = xml.append_child("testsuites").append_child("testsuite");
  set_attribute(all, "name", suite.name);
  std::map<std::string, int> count;
  for (const JunitCase& one : cases) {
    const auto problem = problem_of(one);
    ++count[problem];
    auto message = std::string(to_string(one.verdict)) + ": " + one.why;
    if (one.verdict == Verdict::unknown && !suite.advice.empty()) message += "\n" + suite.advice;
    auto node = add_case(all, one.name, problem, message);
    if (!one.checks.empty()) node.append_child("system-out").text() = one.checks.c_str();
  }
  if (!suite.harness_failure.empty()) {
    ++count["error"];
    add_case(all, "harness: every process ended when it was stopped, and not before", "error",
             suite.harness_failure);
  }
  const auto tests = std::distance(all.begin(), all.end());
  set_attribute(all, "tests", std::to_string(tests));
  set_attribute(all, "failures", std::to_string(count["failure"]));
  set_attribute(all, "errors", std::to_string(count["error"]));
  set_attribute(all, "skipped", std::to_string(count["skipped"]));
  set_attribute(all, "time", fmt::format("{:.3f}", suite.seconds));
  std::ofstream out(file);
  xml.save(out, "  ");
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

void write_junit(const std::string& file, const JunitSuite& suite,
                 const std::vector<Finding>& findings) {
  std::vector<JunitCase> cases;
  for (const Finding& f : findings) {
    const auto name = fmt::format("{}: {}", to_string(f.check), about(f.check).statement);
    cases.push_back({name, f.verdict, f.why, f.only_stalled(), checks_of(f)});
  }
  write_junit(file, suite, cases);
}

Ending ending_of(Verdict verdict, const std::string& harness_failure) {
  if (harness_failure.empty() || verdict == Verdict::violated) {
    return {to_string(verdict), exit_code(verdict)};
  }
  return {"harness failure", kHarnessFailure};
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return kHolds;
    case Verdict::violated: return kViolated;
    case Verdict::unknown: return kUnknown;
  }
  return kUnknown;
}

}  // namespace leasehold::lab
