#include "scenarios/lab/lab.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <fstream>
#include <map>
#include <numeric>
#include <pugixml.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "model/history/digest.hpp"
#include "model/history/from_outside.hpp"
#include "model/workers/worker_judge.hpp"
#include "properties/campaigns/campaign.hpp"
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

/// How often each published arrow was taken, and which never.
std::string arrows_table(const model::ArrowCounts& taken) {
  std::string out;
  for (const auto* table : model::all_tables()) {
    const auto counts = taken.find(std::string(table->name()));
    if (counts == taken.end()) continue;
    const auto steps = std::accumulate(counts->second.begin(), counts->second.end(), 0L);
    const auto arrows = std::ranges::count_if(counts->second, [](auto n) { return n > 0; });
    out += fmt::format("{}: {} steps over {} of {} arrows\n", table->name(), steps, arrows,
                       table->arrows().size());
  }
  for (const auto& name : model::never_taken(taken)) out += "  never taken: " + name + '\n';
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
  return {to_string(c.verdict), static_cast<int>(c.verdict)};  // as `Exit` has them
}

nlohmann::ordered_json to_json(const Conclusion& c) {
  auto json = c.facts;
  if (!c.cases) {
    auto& guarantees = json["guarantees"];
    for (const Finding& f : c.findings) {
      auto& one = guarantees[to_string(f.check)];
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
  }
  if (c.arrows) {
    auto& arrows = json["arrows"];
    for (const auto* table : model::all_tables()) {
      const auto counts = c.arrows->find(std::string(table->name()));
      for (std::size_t i = 0; counts != c.arrows->end() && i < table->arrows().size(); ++i) {
        arrows[counts->first][table->arrows()[i].name()] = counts->second.at(i);
      }
    }
  }
  if (c.promises) json["left_out"] = c.left_out;
  if (!c.repeat.empty()) json["repeat"] = c.repeat;
  if (!c.harness_failure.empty()) json["harness_failure"] = c.harness_failure;
  if (!c.advice.empty()) json["advice"] = c.advice;
  json["verdict"] = ending_of(c).word;
  return json;
}

}  // namespace

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
  std::string text = fmt::format("{:<15} {:<9} {:>9} {:>8} {:>7}  {}\n", "", "verdict", "checked",
                                 "excused", "floor", "guarantee");
  for (const Finding& f : c.findings) {
    text += fmt::format("{:<15} {:<9} {:>9} {:>6.1f} % {:>7}  {}\n", to_string(f.check),
                        to_string(f.verdict), f.checked, properties::excused_percent(f), f.floor,
                        about(f.check).statement);
    if (f.verdict != Verdict::holds) text += fmt::format("{:>52}  {}\n", "!", f.why);
  }
  for (const Finding& f : c.findings) {
    if (f.all_excused() == 0) continue;
    text += fmt::format("{:<15} excused: {}\n", to_string(f.check), properties::excuses_of(f));
  }
  if (c.arrows) text += "\n" + arrows_table(*c.arrows);
  if (c.promises) text += fmt::format("{}: {}\n", c.promises->name, fmt::join(c.left_out, ", "));
  return text;
}

std::string checks_of(const Finding& finding) {
  static const std::regex before_three(R"((\d)(?=(\d{3})+$))");
  const auto checked = std::regex_replace(std::to_string(finding.checked), before_three, "$1,");
  return fmt::format("{} checks, {:.1f} % excused", checked, properties::excused_percent(finding));
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
  for (const Finding& f : c.findings) {
    const std::string verdict = to_string(f.verdict);
    const bool holds = f.verdict == Verdict::holds;
    out += fmt::format("| {} | {} | {} | {:.1f} % | {}{} |\n", plain(to_string(f.check)),
                       holds ? verdict : "**" + verdict + "**", f.checked,
                       properties::excused_percent(f), plain(about(f.check).statement),
                       holds ? "" : ": " + plain(f.why));
  }
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
  auto cases = c.cases.value_or(std::vector<JunitCase>());
  for (const Finding& f : c.findings) {
    const auto name = fmt::format("{}: {}", to_string(f.check), about(f.check).statement);
    if (!c.cases) cases.push_back({name, f.verdict, f.why, f.only_stalled(), checks_of(f)});
  }
  for (const JunitCase& one : cases) {
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
  const auto time_of = [&](model::Index event) {
    return (event == model::kNone ? history.back() : d.at(event)).at_ns;
  };
  std::vector<const model::SessionDigest*> calls;
  for (const auto& s : d.sessions) {
    if (s.ask != model::kNone) calls.push_back(&s);
  }
  std::ranges::stable_sort(calls, {}, [&](const auto* call) { return d.at(call->ask).at_ns; });
  // Each call is of the first caller of its process that is free then.
  std::map<std::string, std::vector<std::int64_t>> busy_until;
  std::map<std::pair<std::string, std::ptrdiff_t>, std::size_t> clients;  // each with its number
  const char* separator = "\n";
  out << R"({"operations":[)";
  for (const auto* call : calls) {
    const auto& ask = d.at(call->ask);
    auto& callers = busy_until[ask.process];
    auto free = std::ranges::find_if(callers, [&](auto until) { return until <= ask.at_ns; });
    if (free == callers.end()) free = callers.insert(free, 0);
    *free = time_of(call->granted == model::kNone ? call->ended : call->released);
    const auto held = call->answers.held();
    // Porcupine's model is a mutex: what is shared is left out.
    if (!held || call->granted == model::kNone || d.at(call->granted).shared) continue;
    const std::pair caller(ask.process, free - callers.begin());
    const auto client = clients.emplace(caller, clients.size()).first->second;
    const auto add = [&](const char* operation, std::int64_t from, std::int64_t to) {
      out << separator
          << nlohmann::ordered_json{{"client_id", client},
                                    {"lock", ask.name},
                                    {"operation", operation},
                                    {"call_ns", from - history.front().at_ns},
                                    {"return_ns", to - history.front().at_ns}}
                 .dump();
      separator = ",\n";
    };
    add("acquire", ask.at_ns, held->from);
    const auto over = std::min({time_of(call->released), call->over_ns,
                                time_of(d.processes.at(ask.process).crash)});
    add("release", held->to, std::max({over, ask.at_ns, held->to}));
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

namespace {

using Json = nlohmann::ordered_json;
using model::Event;
using model::Index;
using model::Kind;

constexpr std::size_t kMostStoryLines = 20'000;

/// Gathers the data of the page. Its times are those of the transcript.
class Gatherer {
 public:
  Gatherer(const model::History& history, const Conclusion& c)
      : history_(history),
        c_(c),
        digest_(model::digest(history)),
        began_ns_(properties::began_ns(history)) {}

  Json gather() {
    auto run = c_.run;
    if (run.empty() && !history_.empty()) {
      run = history_.front().lock + (history_.front().live ? " live" : " virtual");
    }
    auto story = properties::transcript(history_);
    if (story.size() > kMostStoryLines) story.resize(kMostStoryLines);
    return {{"run", run},
            {"end", history_.empty() ? 0.0 : ms(history_.back().at_ns)},
            {"advice", c_.advice},
            {"repeat", c_.repeat},
            {"lanes", lanes()},
            {"faults", faults()},
            {"clocks", clocks()},
            {"documents", documents()},
            {"verdicts", verdicts()},
            {"story", story}};
  }

 private:
  double ms(std::int64_t ns) const { return static_cast<double>(ns - began_ns_) / 1e6; }
  double ms_of(Index i) const { return ms(history_[i].at_ns); }

  Json lanes() const {
    const auto p2_before_p10 = [](const std::string& a, const std::string& b) {
      return strverscmp(a.c_str(), b.c_str()) < 0;
    };
    std::map<std::string, Json, decltype(p2_before_p10)> lanes;
    for (const Event& e : history_) {
      if (e.kind != Kind::start) continue;
      lanes[e.process] = {{"name", properties::short_name(e.process)},
                          {"bars", Json::array()},
                          {"marks", Json::array()}};
    }
    for (const model::SessionDigest& s : digest_.sessions) {
      const auto process = digest_.process_name(s.process);
      if (lanes.contains(process)) add_session(lanes[process], process, s);
    }
    for (const auto& [name, p] : digest_.processes) {
      if (!lanes.contains(name)) continue;
      for (const auto& away : p.away) {
        const auto to = std::min(away.to, history_.back().at_ns);
        lanes[name]["bars"].push_back(
            {{"kind", "stopped"}, {"from", ms(away.from)}, {"to", ms(to)}});
      }
      if (p.crash != model::kNone) {
        lanes[name]["marks"].push_back({{"kind", "killed"}, {"at", ms_of(p.crash)}});
      }
    }
    for (const Event& e : history_) {
      if (e.kind != Kind::write || !lanes.contains(e.process)) continue;
      lanes[e.process]["marks"].push_back(
          {{"kind", "write"}, {"at", ms(e.at_ns)}, {"outcome", e.outcome}});
    }
    Json list = Json::array();
    for (const auto& [name, lane] : lanes) list.push_back(lane);
    return list;
  }

  void add_session(Json& lane, const std::string& process, const model::SessionDigest& s) const {
    if (s.ask == model::kNone) return;
    const Event& ask = history_[s.ask];
    Index until = s.granted != model::kNone ? s.granted : s.ended;
    if (until == model::kNone) until = digest_.processes.at(process).crash;
    if (until == model::kNone) until = static_cast<Index>(history_.size() - 1);
    lane["bars"].push_back({{"kind", "waits"}, {"from", ms(ask.at_ns)}, {"to", ms_of(until)}});
    if (s.granted == model::kNone) return;
    lane["bars"].push_back({{"kind", "held"},
                            {"from", ms_of(s.granted)},
                            {"to", ms(held_until(s, digest_.processes.at(process)))},
                            {"lock", ask.name},
                            {"token", std::to_string(history_[s.granted].token)}});
  }

  /// A worker's grant has no deadline: it is held until the worker says otherwise, or is killed.
  std::int64_t held_until(const model::SessionDigest& s, const model::ProcessDigest& p) const {
    const auto end_ns = history_.back().at_ns;
    if (history_[s.granted].deadline_ns != 0) return std::min(s.over_ns, end_ns);
    auto until = std::min(s.answers.first_no_ns, end_ns);
    for (const Index end : {s.lost, s.notified, s.release, s.released, p.crash}) {
      if (end != model::kNone) until = std::min(until, history_[end].at_ns);
    }
    return until;
  }

  /// A fault that lasts ends at its "ends", any other is a moment.
  Json faults() const {
    Json list = Json::array();
    std::map<std::pair<std::string, std::string>, std::size_t> open;
    for (const Event& e : history_) {
      if (e.kind != Kind::fault) continue;
      const std::pair key{e.fault, e.victim};
      if (e.ends) {
        if (open.contains(key)) list[open[key]]["to"] = ms(e.at_ns);
        open.erase(key);
        continue;
      }
      if (e.begins) open[key] = list.size();
      list.push_back({{"what", e.fault},
                      {"whom", properties::short_name(e.victim)},
                      {"amount", e.amount},
                      {"from", ms(e.at_ns)},
                      {"to", ms(e.at_ns)}});
    }
    return list;
  }

  /// How far each member's clock was moved, as steps.
  Json clocks() const {
    std::map<std::string, Json> members;
    for (const Event& e : history_) {
      if (e.kind != Kind::fault || !e.fault.starts_with("clock-")) continue;
      auto& steps = members[e.victim];
      if (steps.is_null()) steps = Json::array();
      const bool jump = e.fault == "clock-jump";
      steps.push_back({{"at", ms(e.at_ns)},
                       {"ms", jump ? e.amount : 0},
                       {"ppm", jump || e.ends ? 0 : e.amount}});
    }
    Json list = Json::array();
    for (const auto& [name, steps] : members) list.push_back({{"name", name}, {"steps", steps}});
    return list;
  }

  Json documents() const {
    Json list = Json::array();
    for (const auto& changes : digest_.truth) {
      if (changes.empty()) continue;
      Json one{{"lock", history_[changes.front().event].name}, {"changes", Json::array()}};
      for (const auto& change : changes) {
        const Event& e = history_[change.event];
        one["changes"].push_back({{"at", ms(e.at_ns)},
                                  {"gone", change.gone},
                                  {"lockId", e.lock_id.empty() ? e.owner : e.lock_id}});
      }
      list.push_back(std::move(one));
    }
    return list;
  }

  Json verdicts() const {
    Json list = Json::array();
    for (const auto& f : properties::judge(history_, c_.promises).findings) {
      Json one{
          {"guarantee", to_string(f.check)},        {"statement", about(f.check).statement},
          {"verdict", model::to_string(f.verdict)},     {"checked", checks_of(f)},
          {"why", properties::with_short_names(f.why)}, {"events", Json::array()}};
      for (const Index i : f.events) {
        if (i < history_.size()) one["events"].push_back({{"at", ms_of(i)}});
      }
      list.push_back(std::move(one));
    }
    return list;
  }

  const model::History& history_;
  const Conclusion& c_;
  const model::Digest digest_;
  const std::int64_t began_ns_;
};

}  // namespace

std::string run_page(const model::History& history, const Conclusion& c) {
  std::string data =
      Gatherer(history, c).gather().dump(-1, ' ', false, Json::error_handler_t::replace);
  // In JSON each "<" is in a string. Escaped, none ends the script or opens a comment in it.
  boost::replace_all(data, "<", "\\u003c");
  std::string page(pages::run_page_html);
  boost::replace_first(page, "{{style}}", pages::run_page_css);
  boost::replace_first(page, "{{script}}", pages::run_page_js);
  boost::replace_first(page, "{{run}}", data);  // last, so that it is inserted unchanged
  return page;
}

}  // namespace leasehold::lab
