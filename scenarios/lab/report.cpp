#include "scenarios/lab/report.hpp"

#include <fmt/format.h>

#include <fstream>

#include "properties/judgement.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

using model::Finding;
using model::Verdict;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      default: out += static_cast<unsigned char>(c) < ' ' ? '?' : c;  // XML has no name for them
    }
  }
  return out;
}

}  // namespace

nlohmann::ordered_json guarantees_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json json;
  for (const Finding& f : findings) {
    auto& one = json[f.guarantee];
    one["statement"] = f.statement;
    one["verdict"] = to_string(f.verdict);
    one["checked"] = f.checked;
    one["floor"] = f.floor;
    if (f.violations > 0) one["violations"] = f.violations;
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
  std::string out =
      fmt::format("{:<8} {:<9} {:>9} {:>7}  {}\n", "", "verdict", "checked", "floor", "guarantee");
  for (const Finding& f : findings) {
    out += fmt::format("{:<8} {:<9} {:>9} {:>7}  {}\n", f.guarantee, to_string(f.verdict),
                       f.checked, f.floor, f.statement);
    if (f.verdict != Verdict::holds) out += fmt::format("{:>36}  {}\n", "!", f.why);
  }
  return out;
}

std::string story(const std::vector<Finding>& findings, const model::History& history) {
  std::string out;
  for (const Finding& f : findings) {
    if (f.verdict != Verdict::violated) continue;
    out += fmt::format("{} violated: {}\n", f.guarantee, f.why);
    for (const auto i : f.events) {
      if (i < history.size())
        out += "  line " + std::to_string(i + 1) + ": " + to_json(history[i]) + '\n';
    }
  }
  return out;
}

void write_json(const std::string& file, const nlohmann::ordered_json& json) {
  if (file.empty()) return;
  std::ofstream out(file);
  out << json.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

void write_junit(const std::string& file, const JunitSuite& suite,
                 const std::vector<Finding>& findings) {
  if (file.empty()) return;
  int failures = 0, skipped = 0, errors = 0;
  std::string cases;
  const auto add = [&](const std::string& name, const std::string& outcome,
                       const std::string& message) {
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", suite.name, escaped(name));
    cases += outcome.empty() ? "/>\n"
                             : fmt::format(">\n      <{} message=\"{}\"/>\n    </testcase>\n",
                                           outcome, escaped(message));
  };
  for (const Finding& f : findings) {
    const bool excused = properties::is_stalled(f) && !suite.strict;
    const bool failed = f.verdict != Verdict::holds && !excused;
    skipped += excused ? 1 : 0;
    failures += failed ? 1 : 0;
    add(f.guarantee + ": " + f.statement,
        excused  ? "skipped"
        : failed ? "failure"
                 : "",
        std::string(to_string(f.verdict)) + ": " + f.why);
  }
  if (!suite.harness_failure.empty()) {
    ++errors;
    add("harness: every process ended when it was stopped, and not before", "error",
        suite.harness_failure);
  }
  std::ofstream out(file);
  out << fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}  "
      "</testsuite>\n</testsuites>\n",
      suite.name, findings.size() + static_cast<std::size_t>(errors), failures, errors, skipped,
      suite.seconds, cases);
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
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
