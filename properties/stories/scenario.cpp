#include "properties/stories/scenario.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include "properties/campaigns/matrix.hpp"
#include "properties/campaigns/simulate.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::properties {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRule = "----\n";
constexpr const char* kLocksWord = "# locks: ";
constexpr const char* kReproducesWord = "# reproduces: ";
constexpr std::size_t kLockColumn = 18;

/// A variant promises what the lock promises from which it was made, the production lock.
bool is_promised(const std::string& lock, model::Check guarantee) {
  const bool is_variant = sim::promise_of(lock, model::Check::G1).empty();
  return !sim::promise_of(is_variant ? "leasehold" : lock, guarantee).empty();
}

/// The comment lines before the first line of the plan, without their "# ".
std::string comment_of(const std::string& head) {
  std::string about;
  std::istringstream lines(head);
  for (std::string line; std::getline(lines, line) && line.starts_with("#");) {
    if (line.starts_with(kLocksWord) || line.starts_with(kReproducesWord)) continue;
    about += (line.size() > 2 ? line.substr(2) : "") + "\n";
  }
  return about;
}

/// The words of the comment line that begins so.
std::vector<std::string> words_after(const char* beginning, const std::string& head) {
  const auto at = head.find(beginning);
  if (at == std::string::npos) return {};
  std::istringstream words(
      head.substr(at, head.find('\n', at) - at).substr(std::strlen(beginning)));
  return {std::istream_iterator<std::string>(words), {}};
}

model::CheckSet promised_of(const std::string& lock, const std::vector<std::string>& words) {
  model::CheckSet guarantees;
  for (const auto& word : words) {
    const auto guarantee = model::check_named(word);
    if (!guarantee || !is_promised(lock, *guarantee)) {
      throw std::runtime_error("reproduces is '" + word + "': it must be a guarantee that " + lock +
                               " promises, as G2");
    }
    guarantees.insert(*guarantee);
  }
  return guarantees;
}

std::string padded(const std::string& word) {
  return word + std::string(std::max(kLockColumn, word.size() + 1) - word.size(), ' ');
}

Simulated run_with(const Scenario& scenario, const std::string& lock) {
  auto plan = scenario.plan;
  plan.lock = lock;
  return simulate(plan);
}

}  // namespace

Scenario read_scenario(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("scenario '" + file.string() + "': it cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Scenario s{.file = file, .name = file.stem(), .group = file.parent_path().filename()};
  const auto rule = text.find(std::string("\n") + kRule);
  s.head = rule == std::string::npos ? text : text.substr(0, rule + 1);
  s.expected = rule == std::string::npos ? "" : text.substr(rule + 1 + std::string(kRule).size());
  s.about = comment_of(s.head);
  s.locks = words_after(kLocksWord, s.head);
  if (s.locks.empty()) s.locks = matrix_locks();
  try {
    s.plan = sim::plan_from_scn(s.head);
    s.reproduces = promised_of(s.plan.lock, words_after(kReproducesWord, s.head));
  } catch (const std::exception& error) {
    throw std::runtime_error("scenario '" + file.string() + "': " + error.what());
  }
  return s;
}

std::vector<Scenario> read_scenarios(const fs::path& folder) {
  std::vector<Scenario> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    // Plans for other locks show nothing of ours.
    const bool of_others = entry.path().parent_path().filename() == "others";
    if (entry.path().extension() != ".scn" || of_others) continue;
    auto scenario = read_scenario(entry.path());
    if (sim::is_scripted(scenario.plan)) all.push_back(std::move(scenario));
  }
  std::ranges::sort(all, {}, [](const Scenario& s) { return std::tie(s.group, s.name); });
  return all;
}

sim::Plan without_fault(sim::Plan plan) {
  plan.faults.clear();
  std::erase_if(plan.steps, [](const sim::StepPlan& s) { return s.is_the_fault; });
  for (auto& p : plan.processes) p.drift_ppm = 0;
  return plan;
}

model::CheckSet broken_promises(const std::string& lock, const Judgement& judgement) {
  model::CheckSet broken;
  for (const auto check : violated(judgement.findings)) {
    if (is_promised(lock, check)) broken.insert(check);
  }
  return broken;
}

model::CheckSet not_reproduced(const Scenario& scenario, const Judgement& judgement) {
  return scenario.reproduces.without(broken_promises(scenario.plan.lock, judgement));
}

std::string verdict_line(const std::string& lock, const Judgement& judgement) {
  const auto broken = broken_promises(lock, judgement);
  if (!broken.empty()) return "violated " + to_string(broken);
  const auto& form = judgement.findings.front();
  if (form.verdict != model::Verdict::holds) return "unknown: " + form.why;
  const bool tested = std::ranges::any_of(judgement.findings, [&](const model::Finding& f) {
    return is_promised(lock, f.check) && f.verdict == model::Verdict::holds;
  });
  return tested ? "holds" : "unknown: nothing that it promises was put to the test";
}

std::string render_expectation(const Scenario& scenario) {
  std::string out;
  std::map<std::string, Simulated> runs;
  for (const auto& lock : scenario.locks) {
    const auto& one = runs[lock] = run_with(scenario, lock);
    out += padded(lock) + verdict_line(lock, one.judgement) + '\n';
  }
  std::vector<std::string> featured_locks{scenario.plan.lock};
  if (featured_locks.front() != "leasehold") featured_locks.emplace_back("leasehold");
  for (const auto& lock : featured_locks) {
    if (!runs.contains(lock)) runs[lock] = run_with(scenario, lock);
    const auto& one = runs[lock];
    out += "\nwith " + lock + "\n";
    for (const auto& line : transcript(one.run.history)) out += line + '\n';
    const auto broken = broken_promises(lock, one.judgement);
    for (const auto& f : one.judgement.findings) {
      if (!broken.contains(f.check)) continue;
      out += std::string(to_string(f.check)) + " violated: " + with_short_names(f.why) + '\n';
    }
  }
  return out;
}

std::string expected_verdict(const Scenario& scenario, const std::string& lock) {
  std::istringstream lines(scenario.expected);
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.starts_with(padded(lock))) return line.substr(padded(lock).size());
  }
  return "";
}

}  // namespace leasehold::properties
