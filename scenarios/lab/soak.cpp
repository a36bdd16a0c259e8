#include "properties/soak.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <random>

#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report.hpp"

namespace leasehold::lab {
namespace {

std::atomic<bool> interrupted = false;

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
          {"verdict", to_string(report.verdict())}};
}

void print(const properties::SoakReport& report) {
  for (const auto& [key, count] : report.totals) fmt::print("{:>9} {}\n", count, key);
  for (const auto& [kind, count] : report.faults) fmt::print("{:>9} fault {}\n", count, kind);
  fmt::print("\n{}\n", table(report.findings));
  fmt::print(
      "{} processes lived through it; from a quarter of the time on, a process had\n"
      "  resident memory {:.0f} KiB, growing by {:+.1f} KiB, give or take {:.1f}\n"
      "  of it anonymous {:.0f} KiB, growing by {:+.1f} KiB, give or take {:.1f}\n"
      "  descriptors {:.1f}, growing by {:+.2f}, give or take {:.2f}\n",
      report.measured, report.resident_kib.mean, report.resident_kib.growth,
      report.resident_kib.error, report.anonymous_kib.mean, report.anonymous_kib.growth,
      report.anonymous_kib.error, report.descriptors.mean, report.descriptors.growth,
      report.descriptors.error);
  if (!report.grown.empty()) fmt::print("{}\n", report.grown);
  if (!report.kept.empty()) fmt::print("kept: {}\n", report.kept);
  if (report.too_short()) {
    fmt::print("too short to tell whether they grow: {} minutes at least\n",
               properties::kShortestSoakMinutes);
  }
  fmt::print("verdict: {}\n", to_string(report.verdict()));
}

}  // namespace

int soak(const std::vector<std::string>& words) {
  properties::SoakOptions s;
  s.seed = std::random_device()();
  std::string json_file, history;
  po::options_description options(
      "One long run on a real replica set with every kind of fault: guarantees, and whether the "
      "processes grow. Options");
  options.add_options()("minutes", po::value(&s.minutes)->default_value(s.minutes), "how long")(
      "processes", po::value(&s.processes)->default_value(s.processes),
      "every other one is never killed, and measured")(
      "locks", po::value(&s.locks)->default_value(s.locks), "names that they fight over")(
      "seed", po::value(&s.seed), "of the plan; default fresh, and printed")(
      "history", po::value(&history)->value_name("FILE"), "write what happened, for `check`")(
      "runs", po::value(&s.keep_folder)->default_value(s.keep_folder)->value_name("FOLDER"),
      "where a run that broke a guarantee is kept")(
      "json", po::value(&json_file)->value_name("FILE"), "write the report as JSON");
  parse("soak [OPTIONS]", options, words);
  require_range("minutes", s.minutes, 1, 7 * 24 * 60);
  require_range("processes", s.processes, 2, 256);
  require_range("locks", s.locks, 1, 1'000);
  require_writable("json", json_file);
  require_writable("history", history);
  signal(SIGINT, [](int) { interrupted = true; });
  signal(SIGTERM, [](int) { interrupted = true; });

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
  const auto report = properties::soak(s, on_progress, [] { return interrupted.load(); });
  print(report);
  write_json(json_file, to_json(report));
  if (!history.empty()) {
    std::ofstream out(history);
    model::write(out, report.history);
  }
  return exit_code(report.verdict());
}

}  // namespace leasehold::lab
