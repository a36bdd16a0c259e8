#include "scenarios/lab/report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <fstream>
#include <map>
#include <pugixml.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "model/history/digest.hpp"
#include "model/history/from_outside.hpp"
#include "model/workers/worker_judge.hpp"
#include "properties/campaigns/judgement.hpp"
#include "properties/stories/scenario.hpp"

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

/// "12,054".
std::string in_thousands(std::int64_t count) {
  static const std::regex before_three(R"((\d)(?=(\d{3})+$))");
  return std::regex_replace(std::to_string(count), before_three, "$1,");
}

/// {"G1": {"verdict": "holds", "checked": 12, "floor": 10, ...}, ...}
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

/// {"lifecycle": {"Waiting --Give Up--> [*]": 12, ...}, ...}
nlohmann::ordered_json arrows_json(const model::ArrowCounts& taken) {
  nlohmann::ordered_json json;
  for (const auto* table : model::all_tables()) {
    const auto counts = taken.find(std::string(table->name()));
    for (std::size_t i = 0; counts != taken.end() && i < table->arrows().size(); ++i) {
      json[counts->first][table->arrows()[i].name()] = counts->second.at(i);
    }
  }
  return json;
}

/// How often each published arrow was taken, and which never.
std::string arrows_table(const model::ArrowCounts& taken) {
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
  for (const auto& name : model::never_taken(taken)) out += "  never taken: " + name + '\n';
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

/// Text for a cell of a table or a paragraph: one line, without markup of Markdown or HTML.
std::string plain(const std::string& text) {
  static const std::regex markup(R"([\\|`*_\[\]#~])");
  auto out = std::regex_replace(text, markup, "\\$&");
  boost::replace_all(out, "&", "&amp;");
  boost::replace_all(out, "<", "&lt;");
  boost::replace_all(out, "\n", "<br>");
  return out;
}

std::string row(const Finding& f) {
  const std::string verdict = to_string(f.verdict);
  const bool holds = f.verdict == Verdict::holds;
  return fmt::format("| {} | {} | {} | {:.1f} % | {}{} |\n", plain(to_string(f.check)),
                     holds ? verdict : "**" + verdict + "**", f.checked,
                     properties::excused_percent(f),
                     plain(about(f.check).statement), holds ? "" : ": " + plain(f.why));
}

/// The verdict in words and as an exit code. A harness failure never holds, and is more than
/// unknown; a certain violation stays one.
struct Ending {
  std::string word;
  int exit_code;
};

Ending ending_of(const Conclusion& c) {
  if (!c.harness_failure.empty() && c.verdict != Verdict::violated) {
    return {"harness failure", kHarnessFailure};
  }
  const int code = c.verdict == Verdict::holds      ? kHolds
                   : c.verdict == Verdict::violated ? kViolated
                                                    : kUnknown;
  return {to_string(c.verdict), code};
}

nlohmann::ordered_json to_json(const Conclusion& c) {
  auto json = c.facts;
  if (!c.cases) json["guarantees"] = guarantees_json(c.findings);
  if (c.arrows) json["arrows"] = arrows_json(*c.arrows);
  if (c.promises) json["left_out"] = c.left_out;
  if (!c.repeat.empty()) json["repeat"] = c.repeat;
  if (!c.harness_failure.empty()) json["harness_failure"] = c.harness_failure;
  if (!c.advice.empty()) json["advice"] = c.advice;
  json["verdict"] = ending_of(c).word;
  return json;
}

std::vector<JunitCase> cases_of(const std::vector<Finding>& findings) {
  std::vector<JunitCase> cases;
  for (const Finding& f : findings) {
    const auto name = fmt::format("{}: {}", to_string(f.check), about(f.check).statement);
    cases.push_back({name, f.verdict, f.why, f.only_stalled(), checks_of(f)});
  }
  return cases;
}

/// One acquire call, with the caller of its process that made it.
struct Call {
  const model::Event* ask;
  const model::SessionDigest* session;
  int lane = 0;
};

std::int64_t time_of(const model::Digest& d, model::Index event) {
  return (event == model::kNone ? d.history->back() : d.at(event)).at_ns;
}

/// In the order of their starts, each in the first lane of its process that is free then.
std::vector<Call> calls_of(const model::Digest& d) {
  std::vector<Call> calls;
  for (const auto& s : d.sessions) {
    if (s.ask != model::kNone) calls.push_back({&d.at(s.ask), &s});
  }
  std::ranges::stable_sort(calls, {}, [](const Call& call) { return call.ask->at_ns; });
  std::map<std::string, std::vector<std::int64_t>> busy_until;
  for (auto& [ask, session, lane] : calls) {
    auto& lanes = busy_until[ask->process];
    const auto is_free = [&](std::int64_t until) { return until <= ask->at_ns; };
    const auto free = std::ranges::find_if(lanes, is_free) - lanes.begin();
    lane = static_cast<int>(free);
    lanes.resize(std::max(lanes.size(), static_cast<std::size_t>(free) + 1));
    const auto answered = session->granted == model::kNone ? session->ended : session->released;
    lanes[static_cast<std::size_t>(free)] = time_of(d, answered);
  }
  return calls;
}

}  // namespace

void Conclusion::add(JunitCase one, double took_s) {
  if (!cases) {
    cases.emplace();
    verdict = Verdict::holds;
  }
  if (verdict == Verdict::holds || one.verdict == Verdict::violated) verdict = one.verdict;
  seconds += took_s;
  cases->push_back(std::move(one));
}

void Conclusion::is_of(const std::optional<model::Promises>& worker,
                       const model::ArrowCounts& taken) {
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

std::string checks_of(const Finding& finding) {
  return fmt::format("{} checks, {:.1f} % excused", in_thousands(finding.checked),
                     properties::excused_percent(finding));
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
             (died ? describe_exit(e) + ":\n" + e.message : to_json(e)) + '\n';
    }
  }
  return out;
}

std::string to_markdown(const Conclusion& c) {
  std::string out = fmt::format("### leasehold-lab {}: {}\n\n{}\n\n", c.command, ending_of(c).word,
                                plain(c.run));
  if (!c.harness_failure.empty()) out += "**" + plain(c.harness_failure) + "**\n\n";
  if (!c.advice.empty()) out += plain(c.advice) + "\n\n";
  out += "| | verdict | checked | excused | |\n|---|---|--:|--:|---|\n";
  for (const Finding& f : c.findings) out += row(f);
  if (!c.repeat.empty()) out += "\nTo repeat it:\n\n    " + c.repeat + "\n";
  return out + '\n';
}

std::string to_junit(const Conclusion& c) {
  pugi::xml_document xml;
  auto declaration = xml.append_child(pugi::node_declaration);
  set_attribute(declaration, "version", "1.0");
  set_attribute(declaration, "encoding", "UTF-8");
  auto all = xml.append_child("testsuites").append_child("testsuite");
  set_attribute(all, "name", c.command);
  std::map<std::string, int> count;
  for (const JunitCase& one : c.cases ? *c.cases : cases_of(c.findings)) {
    const bool holds = one.verdict == Verdict::holds;
    const std::string problem = holds ? "" : one.skipped ? "skipped" : "failure";
    ++count[problem];
    auto message = std::string(to_string(one.verdict)) + ": " + one.why;
    if (one.verdict == Verdict::unknown && !c.advice.empty()) message += "\n" + c.advice;
    auto node = add_case(all, one.name, problem, message);
    if (!one.checks.empty()) node.append_child("system-out").text() = one.checks.c_str();
  }
  if (!c.harness_failure.empty()) {
    ++count["error"];
    add_case(all, "harness: every process ended when it was stopped, and not before", "error",
             c.harness_failure);
  }
  const auto tests = std::distance(all.begin(), all.end());
  set_attribute(all, "tests", std::to_string(tests));
  set_attribute(all, "failures", std::to_string(count["failure"]));
  set_attribute(all, "errors", std::to_string(count["error"]));
  set_attribute(all, "skipped", std::to_string(count["skipped"]));
  set_attribute(all, "time", fmt::format("{:.3f}", c.seconds));
  std::ostringstream out;
  xml.save(out, "  ");
  return out.str();
}

void write_operations(std::ostream& out, const model::History& history) {
  const auto d = model::digest(history);
  const auto begin = history.front().at_ns;
  std::map<std::string, std::size_t> clients;  // each with its number
  const char* separator = "\n";
  out << R"({"operations":[)";
  for (const auto& [ask, session, lane] : calls_of(d)) {
    const auto held = session->answers.held();
    if (!held || session->granted == model::kNone) continue;
    const auto name = fmt::format("{}/{}", ask->process, lane);
    const auto client = clients.emplace(name, clients.size()).first->second;
    const auto add = [&](const char* operation, std::int64_t from, std::int64_t to) {
      out << separator
          << nlohmann::ordered_json{{"client_id", client},
                                    {"lock", ask->name},
                                    {"operation", operation},
                                    {"call_ns", from - begin},
                                    {"return_ns", to - begin}}
                 .dump();
      separator = ",\n";
    };
    add("acquire", ask->at_ns, held->from);
    const auto over = std::min({time_of(d, session->released), session->over_ns,
                                time_of(d, d.processes.at(ask->process).crash)});
    add("release", held->to, std::max({over, ask->at_ns, held->to}));
  }
  out << "\n]}\n";
}

void write_file(const std::string& file, const std::function<void(std::ostream&)>& write,
                std::ios::openmode mode) {
  if (file.empty()) return;
  std::ofstream out(file, mode);
  write(out);
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

void write_file(const std::string& file, const std::string& text, std::ios::openmode mode) {
  write_file(file, [&](std::ostream& out) { out << text; }, mode);
}

void write_json(const std::string& file, const nlohmann::ordered_json& json) {
  // A file's name need not be text.
  write_file(file, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

int write(const Conclusion& c, const Outputs& outputs, const model::History& shown) {
  if (!outputs.page.empty()) write_file(outputs.page, run_page(shown, c));
  write_file(outputs.summary, to_markdown(c), std::ios::app);  // a job may write several
  write_json(outputs.json, to_json(c));
  write_file(outputs.junit, to_junit(c));
  write_file(outputs.history, [&](std::ostream& out) { model::write(out, shown); });
  return ending_of(c).exit_code;
}

int conclude(const Conclusion& c, const Outputs& outputs, const model::History& shown) {
  if (!c.harness_failure.empty()) fmt::print("harness failure: {}\n", c.harness_failure);
  if (!c.advice.empty()) fmt::print("{}\n", c.advice);
  fmt::print("verdict: {}\n", ending_of(c).word);
  return write(c, outputs, shown);
}

}  // namespace leasehold::lab
