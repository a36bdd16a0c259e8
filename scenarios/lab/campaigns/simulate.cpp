
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <regex>

#include "properties/campaigns/verify.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::model {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finding, check, verdict, checked, floor, why, open, violations,
                                   excused, counts)
}
namespace leasehold::properties {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SimulateReport, totals, took_effect, findings, arrows, runs,
                                   virtual_s, events, hash, fewest_acquisitions, idle_runs, with,
                                   interrupted, scripted, enabled, bit, failed)
}

namespace leasehold::lab {
namespace {

using properties::PlanLimits;
using properties::SimulateReport;
using properties::count_of;
using sim::Plan;

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

struct SimulateCommand {
  PlanLimits limits;
  std::uint64_t from = 1, to = 1;
  std::string seeds = "1..1000", waiting, file, folder = "leasehold-runs";
  std::vector<std::string> parts;  ///< reports to add up
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
      "runs", to_folder("runs", a.folder)->default_value(a.folder),
      "where the first failing plan is kept, minimised")(
      "history", to_file("history", a.outputs.history), "write the history of a single run")(
      "sum", po::value(&a.parts)->multitoken()->value_name("FILE..."),
      "run nothing: add up the reports that --json wrote for parts of the seeds")(
      "hash", po::bool_switch(&a.hashed), "print a hash of all histories")(
      "until-failure", po::bool_switch(&a.until_failure), "stop at the first run that fails");
  a.outputs.add_to(options, "write the first run that failed, else the first, as a page");
  return options;
}

/// On all cores. A plan from a file runs once.
SimulateReport run(const SimulateCommand& a) {
  SimulateReport report;
  std::mutex mutex;
  StatusLine line;
  const auto work = [&](std::uint64_t i) {
    if (interrupted()) return false;
    const auto seed = a.from + i;
    const Plan plan = a.plan_of(seed);
    const auto one = a.file.empty() ? properties::simulate(plan, seed) : properties::simulate(plan);
    const properties::SimulateReport of_one(seed, plan, one, a.hashed);
    const std::scoped_lock lock(mutex);
    report.add(of_one);
    return !a.until_failure || of_one.failed.empty();
  };
  const auto count = a.file.empty() ? a.to - a.from + 1 : 1;
  properties::on_all_cores(count, work, [&](std::uint64_t done) {
    line.show(fmt::format("{} of {} runs", done, count));
  });
  return report;
}

/// What --json keeps for --sum: the report before it is concluded, and what it is a report of.
struct PartialReport {
  std::string version, lock, waiting;
  std::uint64_t hash_of_seed_1 = 0;  ///< other code has another
  bool hashed = false;
  std::uint64_t from = 0, to = 0;
  double cpu_s = 0;
  SimulateReport report = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PartialReport, version, lock, waiting, hash_of_seed_1, hashed,
                                   from, to, cpu_s, report)

/// The part that this command runs or adds up to, without a report.
PartialReport part_of(const SimulateCommand& a) {
  const auto run = sim::simulated::run(properties::draw_plan(1, a.limits));
  return {.version = LEASEHOLD_VERSION,
          .lock = a.limits.lock,
          .waiting = a.waiting,
          .hash_of_seed_1 = properties::seeds_hash(1, run),
          .hashed = a.hashed,
          .from = a.from,
          .to = a.to};
}

PartialReport read_part(const std::string& file) {
  const auto text = read_file("report", file);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  try {
    return json.at("part").get<PartialReport>();
  } catch (const nlohmann::json::exception&) {
    refuse("--sum", file, "it must be a report that simulate --seeds --json wrote");
  }
}

/// The sum of what is in the files. Throws UsageError unless they have each seed once, all run by
/// the same code with the same options as `whole`.
PartialReport sum_of(const std::vector<std::string>& files, PartialReport whole) {
  std::vector<std::pair<PartialReport, std::string>> parts;
  for (const auto& file : files) {
    const auto& part = parts.emplace_back(read_part(file), file).first;
    const auto alike = [&](const auto& its, const auto& ours, const char* what) {
      if (its == ours) return;
      refuse("--sum", file, fmt::format("its {} is '{}', here it is '{}'", what, its, ours));
    };
    alike(part.version, whole.version, "version");
    alike(part.lock, whole.lock, "--lock");
    alike(part.waiting, whole.waiting, "--waiting");
    alike(part.hashed, whole.hashed, "--hash");
    alike(part.hash_of_seed_1, whole.hash_of_seed_1, "hash of seed 1");
    if (static_cast<std::uint64_t>(part.report.runs) != part.to - part.from + 1) {
      refuse("--sum", file, fmt::format("it has {} runs of the seeds {}..{}", part.report.runs,
                                        part.from, part.to));
    }
  }
  std::ranges::sort(parts, {}, [](const auto& one) { return one.first.from; });
  const auto wanted = fmt::format("{}..{}", whole.from, whole.to);
  auto next = whole.from;
  const auto none_before = [&](std::uint64_t seed) {
    if (next == seed) return;
    refuse("--seeds", wanted, fmt::format("no report has the seeds {}..{}", next, seed - 1));
  };
  for (const auto& [part, file] : parts) {
    if (part.from < next || part.to > whole.to) {
      refuse("--sum", file, fmt::format("its seeds {}..{} are in another report, too, or not in "
                                        "--seeds {}", part.from, part.to, wanted));
    }
    none_before(part.from);
    next = part.to + 1;
    whole.cpu_s += part.cpu_s;
    whole.report.add(part.report);
  }
  none_before(whole.to + 1);
  return whole;
}

void print(const SimulateReport& report, double cpu) {
  fmt::print(
      "{} runs, {:.0f} virtual seconds in {:.1f} CPU s ({:.0f} a second), {:.1f} million events\n",
      report.runs, report.virtual_s, cpu, report.virtual_s / cpu,
      static_cast<double>(report.events) / 1e6);
  fmt::print("{:.0f} lock lifecycles a CPU second; at least {} acquisitions in each run\n",
             static_cast<double>(count_of(report.totals, "acquisitions")) / cpu,
             report.fewest_acquisitions);
  for (const auto& [key, count] : report.totals) fmt::print("{:>9} {}\n", count, key);
  fmt::print("\nfault            runs that had it  took effect in  times in all\n");
  for (const auto& [kind, runs] : report.enabled) {
    fmt::print("{:<16} {:>16} {:>15} {:>13}\n", kind, runs, count_of(report.bit, kind),
               count_of(report.took_effect, kind));
  }
  for (const char* what :
       {"begun-at-a-command", "elections", "moves", "moves-while-held", "rolled-back",
        "stale-routers", "ttl-deletions", "wtimeouts"}) {
    if (report.took_effect.contains(what))
      fmt::print("{:>9} {}\n", report.took_effect.at(what), what);
  }
}

nlohmann::ordered_json facts_of(const SimulateReport& report, double cpu, bool hashed) {
  const auto lifecycles = count_of(report.totals, "acquisitions");
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

/// Writes the smallest plan that breaks the same guarantee as the first that failed to a file.
void keep_failure(const SimulateCommand& a, const SimulateReport& report) {
  namespace fs = std::filesystem;
  if (report.failed.empty()) return;
  const auto seed = *report.failed.begin();
  fmt::print("{} of {} runs failed; the first is seed {}\n", report.failed.size(), report.runs,
             seed);
  const auto name = a.file.empty() ? fmt::format("{}-{}", a.limits.lock, seed)
                                   : fs::path(a.file).stem().string();
  const auto plan = a.plan_of(seed);
  const auto broken = broken_by(properties::simulate(plan));
  const Plan small = minimised(plan, [&](const Plan& candidate) {
    return broken_by(properties::simulate(candidate)) == broken;
  });
  fs::create_directories(a.folder);
  const std::string file = a.folder + "/" + name + ".scn";
  std::ofstream(file) << sim::to_scn(small);
  const auto one = properties::simulate(small);
  fmt::print("{}", story(one.judgement.findings, one.run.history));
  fmt::print("minimised to {} processes and {} faults: {}\nto repeat: leasehold-lab simulate {}\n",
             small.processes.size(), small.faults.size(), file, file);
}

}  // namespace

int simulate(const std::vector<std::string>& words) {
  SimulateCommand a;
  const auto given = parse("simulate [FILE] [OPTIONS]", options_for(a), words,
                           po::positional_options_description().add("plan", 1));
  a.given_lock = !given["lock"].defaulted();
  require_lock(a.limits.lock);
  static const std::regex range(R"((\d{1,19})(?:\.\.(\d{1,19}))?)");
  std::smatch parts;
  if (!std::regex_match(a.seeds, parts, range)) {
    refuse("--seeds", a.seeds, "it must be a number or a range like 1..1000");
  }
  a.from = std::stoull(parts[1]);
  a.to = parts[2].matched ? std::stoull(parts[2]) : a.from;
  if (a.to < a.from) refuse("--seeds", a.seeds, "the range is empty");
  if (!a.waiting.empty()) a.limits.waitings = parse_waitings(a.waiting);
  const auto& history = a.outputs.history;
  if (!history.empty() && a.file.empty() && a.from != a.to) {
    refuse("--history", history, "it needs a single run");
  }
  if (given.contains("plan")) (void)read_plan(a.file);  // refused before anything runs
  if (!a.parts.empty() && !a.file.empty()) {
    refuse("--sum", a.parts.front(), "a plan from a file has no parts");
  }
  catch_interruptions();
  properties::conclude_deaths();

  PartialReport part;
  if (a.file.empty() && !(a.outputs.json.empty() && a.parts.empty())) part = part_of(a);
  if (a.parts.empty()) {
    const double began = cpu_seconds();
    part.report = run(a);
    part.cpu_s = std::max(cpu_seconds() - began, 1e-9);
    part.report.interrupted = interrupted();
  } else {
    part = sum_of(a.parts, std::move(part));
  }
  const double cpu = part.cpu_s;
  auto report = part.report;
  properties::conclude(report.findings, {.chosen = report.runs < properties::kManyRuns});
  const auto [verdict, advice] = report.answer();
  Conclusion c{.command = "simulate",
               .seconds = cpu,
               .findings = report.findings,
               .verdict = verdict,
               .advice = advice,
               .arrows = report.arrows,
               .facts = facts_of(report, cpu, a.hashed)};
  if (!part.version.empty()) c.facts["part"] = nlohmann::json(part);
  print(report, cpu);
  fmt::print("\n{}", findings_text(c));
  keep_failure(a, report);
  const auto history_of = [&a](std::uint64_t seed) {
    return sim::simulated::run(a.plan_of(seed)).history;
  };
  auto shown = history_of(a.from);  // a run is a function of its plan
  const auto difference = sim::simulated::first_difference(shown, history_of(a.from));
  if (!difference.empty()) {
    c.verdict = model::Verdict::violated;
    fmt::print("the same plan gave another history: {}\n", difference);
  }
  if (a.hashed) fmt::print("hash {:016x}\n", report.hash);
  if (!report.failed.empty()) shown = history_of(*report.failed.begin());
  return conclude(c, a.outputs, shown);
}

}  // namespace leasehold::lab
