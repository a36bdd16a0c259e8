#include "properties/campaigns/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "properties/campaigns/floors.hpp"
#include "scenarios/lab/campaigns/simulate_runs.hpp"
#include "scenarios/lab/interruption.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/progress.hpp"
#include "scenarios/lab/report/report.hpp"
#include "scenarios/lab/report/run_page.hpp"
#include "scenarios/lab/report/simulate_report.hpp"

namespace leasehold::lab {
namespace {

using properties::PlanLimits;
using properties::SimulateReport;
using sim::Plan;

/// Otherwise a minus sign would make a large number.
void require_digits(const std::string& text) {
  if (text.find_first_not_of("0123456789.") != std::string::npos) throw std::invalid_argument("");
}

/// "7" or "1..1000".
void parse_seeds(const std::string& text, Seeds& seeds) {
  const auto dots = text.find("..");
  try {
    require_digits(text);
    std::size_t read = 0;
    seeds.from = seeds.to = std::stoull(text, &read);
    if (dots != std::string::npos) {
      if (read != dots) throw std::invalid_argument("");
      const std::string rest = text.substr(dots + 2);
      seeds.to = std::stoull(rest, &read);
      if (read != rest.size()) throw std::invalid_argument("");
    } else if (read != text.size()) {
      throw std::invalid_argument("");
    }
  } catch (const std::exception&) {
    throw UsageError("--seeds is '" + text + "': it must be a number or a range like 1..1000");
  }
  if (seeds.to < seeds.from) throw UsageError("--seeds is '" + text + "': the range is empty");
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The first broken guarantee of a run, in the order of the table; if it broke none, what stayed
/// unknown although it was exercised.
std::string broken_by(const properties::Simulated& one) {
  for (const auto wanted : {model::Verdict::violated, model::Verdict::unknown}) {
    for (const auto& f : one.judgement.findings) {
      if (f.verdict == wanted && !f.never_tested()) {
        return std::string(to_string(f.check)) + ' ' + model::to_string(wanted);
      }
    }
  }
  return "";
}

/// Writes the smallest plan that breaks the same guarantee to a file.
void keep_failure(const Plan& plan, const std::string& folder, const std::string& name) {
  namespace fs = std::filesystem;
  const auto broken = broken_by(properties::simulate(plan));
  Minimising limit;
  const Plan small = properties::minimise(plan, [&](const Plan& candidate) {
    return !limit.is_over() && broken_by(properties::simulate(candidate)) == broken;
  });
  limit.end();
  fs::create_directories(folder);
  const std::string file = folder + "/" + name + ".scn";
  std::ofstream(file) << sim::to_scn(small);
  const auto one = properties::simulate(small);
  fmt::print("{}", story(one.judgement.findings, one.run.history));
  fmt::print("minimised to {} processes and {} faults: {}\nto repeat: leasehold-lab simulate {}\n",
             small.processes.size(), small.faults.size(), file, file);
}

/// A run is a function of its plan: empty if so, or where a second run differs.
std::string repeat(const Plan& plan) {
  return sim::simulated::first_difference(sim::simulated::run(plan).history,
                                          sim::simulated::run(plan).history);
}

struct SimulateCommand {
  PlanLimits limits;
  Seeds range;
  std::string seeds = "1..1000", waiting, file, folder = "leasehold-runs";
  std::string json_file, junit_file, history, page;
  bool hashed = false, until_failure = false;
  bool given_lock = false;  ///< --lock was given: it counts for a plan file, too

  [[nodiscard]] Plan plan_of(std::uint64_t seed) const {
    if (file.empty()) return properties::draw_plan(seed, limits);
    auto plan = read_plan(file);
    if (given_lock) plan.lock = limits.lock;
    return plan;
  }
};

po::options_description options_for(SimulateCommand& a) {
  po::options_description options(
      "Runs generated plans, or one from a file, in the virtual world: the production core, a "
      "simulated replica set, virtual time. Options");
  options.add_options()("plan", po::value(&a.file), "a .scn file, instead of seeds")(
      "seeds", po::value(&a.seeds)->default_value(a.seeds), "one, or a range, both ends included")(
      "lock", po::value(&a.limits.lock)->default_value(a.limits.lock),
      "leasehold, a published lock, or canary, canary-extend, canary-clock, canary-crash: planted "
      "errors")(
      "waiting", po::value(&a.waiting)->value_name("LIST"),
      "the waiting strategies to draw from, like queue or queue,uniform; else all")(
      "runs", po::value(&a.folder)->default_value(a.folder)->value_name("FOLDER"),
      "where the first failing plan is kept, minimised")(
      "history", po::value(&a.history)->value_name("FILE"), "write the history of a single run")(
      "report", po::value(&a.page)->value_name("FILE"),
      "write the first run that failed, else the first, as a page")(
      "hash", po::bool_switch(&a.hashed), "print a hash of all histories")(
      "until-failure", po::bool_switch(&a.until_failure), "stop at the first run that fails")(
      "json", po::value(&a.json_file)->value_name("FILE"), "write the report as JSON")(
      "junit", po::value(&a.junit_file)->value_name("FILE"), "write the report as JUnit XML");
  return options;
}

/// Reads text, and throws UsageError for the first error.
void validate(SimulateCommand& a) {
  require_lock(a.limits.lock);
  parse_seeds(a.seeds, a.range);
  if (!a.waiting.empty()) a.limits.waitings = parse_waitings(a.waiting);
  if (!a.history.empty() && a.file.empty() && a.range.from != a.range.to) {
    throw UsageError("--history is '" + a.history + "': it needs a single run");
  }
  require_writable("json", a.json_file);
  require_writable("junit", a.junit_file);
  require_writable("history", a.history);
  require_writable("report", a.page);
  require_folder("runs", a.folder);
}

SimulateReport run(const SimulateCommand& a) {
  if (a.file.empty() && a.history.empty()) {
    return run_seeds(a.range, a.limits, a.hashed, a.until_failure);
  }
  SimulateReport report;
  const Plan plan = a.plan_of(a.range.from);
  const auto one = properties::simulate(plan);
  report.add(a.range.from, plan, one, a.hashed);
  if (!a.history.empty()) {
    std::ofstream out(a.history);
    model::write(out, one.run.history);
  }
  return report;
}

void show_failures(const SimulateCommand& a, const SimulateReport& report) {
  if (report.failed.empty()) return;
  const auto seed = *report.failed.begin();
  fmt::print("{} of {} runs failed; the first is seed {}\n", report.failed.size(), report.runs,
             seed);
  const auto name = a.file.empty() ? fmt::format("{}-{}", a.limits.lock, seed)
                                   : std::filesystem::path(a.file).stem().string();
  keep_failure(a.plan_of(seed), a.folder, name);
}

}  // namespace

int simulate(const std::vector<std::string>& words) {
  SimulateCommand a;
  const auto given = parse("simulate [FILE] [OPTIONS]", options_for(a), words,
                           po::positional_options_description().add("plan", 1));
  a.given_lock = !given["lock"].defaulted();
  validate(a);
  if (given.contains("plan")) (void)read_plan(a.file);  // refused before anything runs
  catch_interruptions();
  properties::conclude_deaths();

  const double began = cpu_seconds();
  SimulateReport report = run(a);
  const double cpu = std::max(cpu_seconds() - began, 1e-9);
  report.interrupted = interrupted();
  properties::conclude(report.findings, {.chosen = report.runs < properties::kManyRuns});
  print_report(report, cpu);
  show_failures(a, report);
  auto verdict = report.verdict();
  if (!a.page.empty()) {
    const auto shown = report.failed.empty() ? a.range.from : *report.failed.begin();
    write_report(a.page, sim::simulated::run(a.plan_of(shown)).history, {}, report.advice());
  }
  const auto difference = repeat(a.plan_of(a.range.from));
  if (!difference.empty()) {
    verdict = model::Verdict::violated;
    fmt::print("the same plan gave another history: {}\n", difference);
  }
  return conclude(report, {cpu, verdict, a.hashed}, a.json_file, a.junit_file);
}

}  // namespace leasehold::lab
