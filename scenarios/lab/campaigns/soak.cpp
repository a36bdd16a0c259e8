#include "properties/campaigns/soak.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <random>

#include "model/workers/worker_judge.hpp"
#include "properties/campaigns/floors.hpp"
#include "scenarios/lab/campaigns/store_option.hpp"
#include "scenarios/lab/interruption.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report/report.hpp"
#include "scenarios/lab/report/run_page.hpp"

namespace leasehold::lab {
namespace {

std::string advice_of(const properties::SoakReport& report) {
  const auto too_short = report.too_short() || report.measured == 0;
  return properties::advice(report.findings,
                            {.harness_failure = report.harness_failure,
                             .interrupted = report.interrupted,
                             .stood_still = report.stalls.mostly(),
                             .too_seldom = too_short ? "minutes in which a process may grow" : "",
                             .see_more = "run with more --minutes"});
}

nlohmann::ordered_json to_json(const properties::SoakReport& report) {
  const auto of = [](const properties::Trend& t) {
    return nlohmann::ordered_json{{"mean", t.mean}, {"growth", t.growth}, {"error", t.error}};
  };
  auto course = nlohmann::ordered_json::array();
  for (const auto& w : report.course) {
    course.push_back({{"at_s", w.at_s},
                      {"resident_kib", w.resident_kib},
                      {"anonymous_kib", w.anonymous_kib},
                      {"descriptors", w.descriptors}});
  }
  return {{"elapsed_s", report.elapsed_s},
          {"measured_processes", report.measured},
          {"resident_kib", of(report.resident_kib)},
          {"anonymous_kib", of(report.anonymous_kib)},
          {"descriptors", of(report.descriptors)},
          {"course", std::move(course)},
          {"totals", report.totals},
          {"faults", report.faults},
          {"guarantees", guarantees_json(report.findings)},
          {"kept", report.kept},
          {"left_behind", report.left_behind},
          {"harness_failure", report.harness_failure},
          {"advice", advice_of(report)},
          {"verdict", ending_of(report.verdict(), report.harness_failure).word}};
}

/// The findings, with the growth of the processes as one more.
std::vector<model::Finding> with_growth(const properties::SoakReport& report) {
  auto findings = report.findings;
  model::Finding growth;
  growth.check = model::Check::growth;
  growth.checked = report.measured;
  growth.why = report.grown;
  if (!report.grown.empty()) growth.verdict = model::Verdict::violated;
  if (report.grown.empty() && (report.too_short() || report.measured == 0)) {
    growth.leave_open(model::Open::too_seldom, "the run was too short to measure growth");
  }
  findings.push_back(std::move(growth));
  return findings;
}

void print(const properties::SoakReport& report) {
  for (const auto& [key, count] : report.totals) fmt::print("{:>9} {}\n", count, key);
  for (const auto& [kind, count] : report.faults) fmt::print("{:>9} fault {}\n", count, kind);
  fmt::print("\n{}\n", table(report.findings));
  fmt::print(
      "{} processes ran from start to end; from a quarter of the time on, a process had\n"
      "  resident memory {:.0f} KiB, growing by {:+.1f} KiB, standard error {:.1f}\n"
      "  of it anonymous {:.0f} KiB, growing by {:+.1f} KiB, standard error {:.1f}\n"
      "  descriptors {:.1f}, growing by {:+.2f}, standard error {:.2f}\n",
      report.measured, report.resident_kib.mean, report.resident_kib.growth,
      report.resident_kib.error, report.anonymous_kib.mean, report.anonymous_kib.growth,
      report.anonymous_kib.error, report.descriptors.mean, report.descriptors.growth,
      report.descriptors.error);
  if (!report.grown.empty()) fmt::print("{}\n", report.grown);
  if (report.stalls.longest_ns > 0) fmt::print("longest stall: {}\n", to_string(report.stalls));
  if (!report.kept.empty()) fmt::print("kept: {}\n", report.kept);
  if (report.too_short()) {
    fmt::print("too short to measure growth: {} minutes at least\n",
               properties::kShortestSoakMinutes);
  }
  for (const auto& what : report.left_behind) fmt::print("left behind: {}\n", what);
  if (!report.harness_failure.empty()) fmt::print("harness failure: {}\n", report.harness_failure);
  if (!advice_of(report).empty()) fmt::print("{}\n", advice_of(report));
  fmt::print("verdict: {}\n", ending_of(report.verdict(), report.harness_failure).word);
}

/// The command line: the run, and where its results go.
struct SoakArguments {
  properties::SoakOptions run;
  std::string json_file, junit_file, page, history;
};

/// The plan of the soak, on the user's own set or another store.
WantedRuns wanted(const properties::SoakOptions& s) {
  return {[&s](const sim::live::TheirSet& set) {
            auto there = s;
            there.set = set;
            return std::vector<WantedPlan>{{properties::soak_plan(there)}};
          },
          {sim::fault_groups().begin(), sim::fault_groups().end()},
          "leasehold_soak_" + std::to_string(s.seed)};
}

SoakArguments soak_arguments(const std::vector<std::string>& words) {
  SoakArguments a;
  properties::SoakOptions& s = a.run;
  s.seed = std::random_device()();
  WorkerOption worker;
  StoreOption store;
  po::options_description options(
      "One long run on a real replica set with every kind of fault: checks the guarantees, "
      "and whether the processes grow. Options");
  options.add_options()("minutes", po::value(&s.minutes)->default_value(s.minutes), "how long")(
      "processes", po::value(&s.processes)->default_value(s.processes),
      "half of them are never killed, and are measured")(
      "locks", po::value(&s.locks)->default_value(s.locks), "names that they compete for")(
      "seed", po::value(&s.seed), "of the plan; default: a new one, which is printed")(
      "history", po::value(&a.history)->value_name("FILE"), "write what happened, for `check`")(
      "runs", po::value(&s.keep_folder)->default_value(s.keep_folder)->value_name("FOLDER"),
      "where a run that broke a guarantee is kept")(
      "report", po::value(&a.page)->value_name("FILE"), "write the run as a page")(
      "json", po::value(&a.json_file)->value_name("FILE"), "write the report as JSON")(
      "junit", po::value(&a.junit_file)->value_name("FILE"), "write the report as JUnit XML");
  worker.add_to(options);
  store.add_to(options);
  s.foreign = worker.lock(parse("soak [OPTIONS]", options, words));
  require_range("minutes", s.minutes, 1, 7 * 24 * 60);
  require_range("processes", s.processes, 2, 256);
  require_range("locks", s.locks, 1, 1'000);
  require_writable("json", a.json_file);
  require_writable("history", a.history);
  require_writable("junit", a.junit_file);
  require_writable("report", a.page);
  require_folder("runs", s.keep_folder);
  s.set = store.prepare(wanted(s), worker, s.foreign);
  return a;
}

}  // namespace

int soak(const std::vector<std::string>& words) {
  const SoakArguments a = soak_arguments(words);
  const properties::SoakOptions& s = a.run;
  const auto promises = s.foreign ? std::optional(s.foreign->promises) : std::nullopt;
  catch_interruptions();

  fmt::print(stderr, "seed {}\n", s.seed);
  double next_s = 0;
  const auto on_progress = [&](const sim::live::Progress& now) {
    if (now.elapsed_s < next_s) return;
    next_s = now.elapsed_s + 10;
    std::int64_t faults = 0;
    for (const auto& [kind, count] : now.faults) faults += count;
    fmt::print(stderr, "{:>5.0f}/{} s  {:<11} {} acquisitions, {} faults\n", now.elapsed_s,
               s.minutes * 60, now.phase, now.acquisitions, faults);
  };
  const auto report = properties::soak(s, on_progress, interrupted);
  print(report);
  if (promises) {
    fmt::print("{}: {}\n", promises->name, fmt::join(model::left_out(*promises), ", "));
  }
  write_json(a.json_file, to_json(report));
  write_junit(a.junit_file, {"soak", report.elapsed_s, report.harness_failure, advice_of(report)},
              with_growth(report));
  write_report(a.page, report.history, promises, advice_of(report));
  if (!a.history.empty()) {
    std::ofstream out(a.history);
    model::write(out, report.history);
  }
  return ending_of(report.verdict(), report.harness_failure).exit_code;
}

}  // namespace leasehold::lab
