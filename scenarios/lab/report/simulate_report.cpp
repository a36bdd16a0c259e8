#include "scenarios/lab/report/simulate_report.hpp"

#include <fmt/format.h>

#include "model/spec/diagrams.hpp"
#include "scenarios/lab/report/report.hpp"

namespace leasehold::lab {

using properties::SimulateReport;

namespace {

std::int64_t lifecycles_of(const SimulateReport& report) {
  const auto found = report.totals.find("acquisitions");
  return found == report.totals.end() ? 0 : found->second;
}

}  // namespace

void print_report(const SimulateReport& report, double cpu) {
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
  fmt::print("\n{}\n{}", table(report.findings), arrows_table(report.arrows));
  if (const auto advice = report.advice(); !advice.empty()) fmt::print("{}\n", advice);
}

namespace {

nlohmann::ordered_json report_json(const SimulateReport& report, double cpu) {
  const auto lifecycles = lifecycles_of(report);
  return {{"runs", report.runs},
          {"simulated_seconds", report.virtual_s},
          {"cpu_seconds", cpu},
          {"events", report.events},
          {"lifecycles", lifecycles},
          {"lifecycles_per_cpu_second", static_cast<double>(lifecycles) / cpu},
          {"fewest_acquisitions", report.fewest_acquisitions},
          {"idle_runs", report.idle_runs},
          {"runs_with_queues", report.with_queues},
          {"runs_with_permits", report.with_permits},
          {"runs_with_calls_for_several_locks", report.with_together},
          {"runs_with_leaders", report.with_leaders},
          {"runs_with_other_options", report.with_other_options},
          {"runs_with_full_queues", report.with_full_queues},
          {"runs_with_many_locks", report.with_many_locks},
          {"runs_with_defaults", report.with_defaults},
          {"runs_with_moves", report.with_moves},
          {"totals", report.totals},
          {"faults", report.took_effect},
          {"enabled", report.enabled},
          {"bit", report.bit},
          {"guarantees", guarantees_json(report.findings)},
          {"arrows", arrows_json(report.arrows)},
          {"failed_seeds", report.failed}};
}

}  // namespace

int conclude(const SimulateReport& report, const Conclusion& conclusion,
             const std::string& json_file, const std::string& junit_file) {
  const auto& [cpu, verdict, hashed] = conclusion;
  auto json = report_json(report, cpu);
  if (const auto advice = report.advice(); !advice.empty()) json["advice"] = advice;
  json["verdict"] = to_string(verdict);
  if (hashed) {
    json["history_hash"] = fmt::format("{:016x}", report.hash);
    fmt::print("hash {:016x}\n", report.hash);
  }
  fmt::print("verdict: {}\n", to_string(verdict));
  write_json(json_file, json);
  write_junit(junit_file, {"simulate", cpu, "", report.advice()}, report.findings);
  return exit_code(verdict);
}

}  // namespace leasehold::lab
