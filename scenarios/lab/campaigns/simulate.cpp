#include "properties/campaigns/simulate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

#include "properties/campaigns/floors.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/progress.hpp"
#include "scenarios/lab/report/conclusion.hpp"

namespace leasehold::lab {
namespace {

using properties::PlanLimits;
using properties::SimulateReport;
using sim::Plan;

struct Seeds {
  std::uint64_t from = 1, to = 1;
};

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

struct SimulateCommand {
  PlanLimits limits;
  Seeds range;
  std::string seeds = "1..1000", waiting, file, folder = "leasehold-runs";
  Outputs outputs;
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
      "history", po::value(&a.outputs.history)->value_name("FILE"),
      "write the history of a single run")(
      "hash", po::bool_switch(&a.hashed), "print a hash of all histories")(
      "until-failure", po::bool_switch(&a.until_failure), "stop at the first run that fails");
  a.outputs.add_to(options);
  a.outputs.add_page(options, "write the first run that failed, else the first, as a page");
  return options;
}

/// Reads text, and throws UsageError for the first error.
void validate(SimulateCommand& a) {
  require_lock(a.limits.lock);
  parse_seeds(a.seeds, a.range);
  if (!a.waiting.empty()) a.limits.waitings = parse_waitings(a.waiting);
  const auto& history = a.outputs.history;
  if (!history.empty() && a.file.empty() && a.range.from != a.range.to) {
    throw UsageError("--history is '" + history + "': it needs a single run");
  }
  a.outputs.require_writable();
  require_folder("runs", a.folder);
}

/// What all cores share: they take one run after another, until there are enough.
class Shared {
 public:
  explicit Shared(const SimulateCommand& asked) : asked_(asked), next_(asked.range.from) {}

  SimulateReport run() {
    const std::uint64_t all = asked_.range.to - asked_.range.from + 1;
    const bool terminal = isatty(STDERR_FILENO) == 1;
    on_all_cores([&] { work(); },
                 [&] {
                   if (terminal) fmt::print(stderr, "\r\x1b[K{} of {} runs", done_.load(), all);
                 });
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    return std::move(report_);
  }

 private:
  void work() {
    SimulateReport mine;
    for (auto seed = next_++; seed <= asked_.range.to && !interrupted() && !enough_;
         seed = next_++) {
      const sim::Plan plan = asked_.plan_of(seed);
      try {
        mine.add(seed, plan, properties::simulate(plan, seed), asked_.hashed);
      } catch (...) {  // an operation that the simulated server does not know
        enough_ = true;
        throw;
      }
      ++done_;
      if (asked_.until_failure && mine.failed.contains(seed)) enough_ = true;
    }
    const std::scoped_lock lock(mutex_);
    report_.add(mine);
  }

  const SimulateCommand& asked_;
  std::atomic<std::uint64_t> next_, done_ = 0;
  std::atomic<bool> enough_ = false;
  std::mutex mutex_;
  SimulateReport report_;
};

SimulateReport run(const SimulateCommand& a) {
  if (a.file.empty()) return Shared(a).run();
  SimulateReport report;
  const Plan plan = a.plan_of(a.range.from);
  report.add(a.range.from, plan, properties::simulate(plan), a.hashed);
  return report;
}

std::int64_t lifecycles_of(const SimulateReport& report) {
  const auto found = report.totals.find("acquisitions");
  return found == report.totals.end() ? 0 : found->second;
}

void print(const SimulateReport& report, double cpu) {
  fmt::print(
      "{} runs, {:.0f} virtual seconds in {:.1f} CPU s ({:.0f} a second), {:.1f} million events\n",
      report.runs, report.virtual_s, cpu, report.virtual_s / cpu,
      static_cast<double>(report.events) / 1e6);
  fmt::print("{:.0f} lock lifecycles a CPU second; at least {} acquisitions in each run\n",
             static_cast<double>(lifecycles_of(report)) / cpu, report.fewest_acquisitions);
  for (const auto& [key, count] : report.totals) fmt::print("{:>9} {}\n", count, key);
  fmt::print("\nfault            runs that had it  took effect in  times in all\n");
  const auto count = [](const auto& map, const std::string& key) {
    return map.contains(key) ? map.at(key) : 0;
  };
  for (const auto& [kind, runs] : report.enabled) {
    fmt::print("{:<16} {:>16} {:>15} {:>13}\n", kind, runs, count(report.bit, kind),
               count(report.took_effect, kind));
  }
  for (const char* what :
       {"begun-at-a-command", "elections", "moves", "moves-while-held", "rolled-back",
        "stale-routers", "ttl-deletions", "wtimeouts"}) {
    if (report.took_effect.contains(what))
      fmt::print("{:>9} {}\n", report.took_effect.at(what), what);
  }
}

nlohmann::ordered_json facts_of(const SimulateReport& report, double cpu, bool hashed) {
  const auto lifecycles = lifecycles_of(report);
  nlohmann::ordered_json json{
      {"runs", report.runs},
      {"simulated_seconds", report.virtual_s},
      {"cpu_seconds", cpu},
      {"events", report.events},
      {"lifecycles", lifecycles},
      {"lifecycles_per_cpu_second", static_cast<double>(lifecycles) / cpu},
      {"fewest_acquisitions", report.fewest_acquisitions},
      {"idle_runs", report.idle_runs},
      {"totals", report.totals},
      {"faults", report.took_effect},
      {"enabled", report.enabled},
      {"bit", report.bit},
      {"failed_seeds", report.failed}};
  for (const auto& [what, runs] : report.with) json["runs_with_" + what] = runs;
  if (hashed) json["history_hash"] = fmt::format("{:016x}", report.hash);
  return json;
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
  Conclusion c{.command = "simulate",
               .seconds = cpu,
               .findings = report.findings,
               .verdict = report.verdict(),
               .advice = report.advice(),
               .arrows = report.arrows,
               .facts = facts_of(report, cpu, a.hashed)};
  print(report, cpu);
  fmt::print("\n{}", findings_text(c));
  show_failures(a, report);
  const auto history_of = [&a](std::uint64_t seed) {
    return sim::simulated::run(a.plan_of(seed)).history;
  };
  auto shown = history_of(a.range.from);  // a run is a function of its plan
  const auto difference =
      sim::simulated::first_difference(shown, history_of(a.range.from));
  if (!difference.empty()) {
    c.verdict = model::Verdict::violated;
    fmt::print("the same plan gave another history: {}\n", difference);
  }
  if (a.hashed) fmt::print("hash {:016x}\n", report.hash);
  if (!report.failed.empty()) shown = history_of(*report.failed.begin());
  return conclude(c, a.outputs, shown);
}

}  // namespace leasehold::lab
