#include "properties/campaigns/soak.hpp"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>

#include "properties/campaigns/floors.hpp"
#include "properties/campaigns/run_folder.hpp"
#include "properties/generation/plan_generator.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/live/system/process_tree.hpp"

namespace leasehold::properties {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr double kSampleEvery_s = 5;
/// Faults of a short run, drawn as often, would leave a long one little but restarts.
constexpr std::size_t kOneKillIn = 8;
constexpr std::int64_t kHold_ms = 200, kLongerLeases = 4;
/// The largest rise of a fitted line, because memory comes in pages. A leak of 50 bytes an
/// acquisition is more in an hour.
constexpr double kMostGrowth_kib = 48;
constexpr double kMostDescriptors = 0.5;
/// Of the memory of a user's worker, whose language may collect garbage now and then.
constexpr double kMostGrowthOfTheirs = 0.05;

/// Its start time in the kernel's ticks, which tells a process from a later process, or a thread of
/// another, with the same number. Empty once it is gone.
std::string start_of(pid_t pid) {
  constexpr std::size_t kStart = 19;
  const auto stat = sim::live::kernel_stat(pid);
  return stat.size() > kStart ? stat[kStart] : "";
}

/// Nothing once the process is gone.
std::optional<MemorySample> weigh(pid_t pid, double at_s) {
  const auto proc = "/proc/" + std::to_string(pid);
  std::ifstream status(proc + "/status");
  MemorySample w{at_s};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) w.resident_kib = std::stod(line.substr(6));
    if (line.starts_with("RssAnon:")) w.anonymous_kib = std::stod(line.substr(8));
  }
  std::error_code gone;
  for (auto at = fs::directory_iterator(proc + "/fd", gone); !gone && at != end(at);) {
    ++w.descriptors;
    at.increment(gone);
  }
  if (gone || w.resident_kib == 0) return std::nullopt;
  return w;
}

/// Its own and that of all that it started, because a shell may run the worker. Nothing once it is
/// gone.
std::optional<MemorySample> weigh_tree(const sim::live::ProcessTable& table, pid_t root,
                                       double at_s) {
  auto sum = weigh(root, at_s);
  for (const pid_t pid : table.tree(root)) {
    const auto w = pid == root || !sum ? std::nullopt : weigh(pid, at_s);
    if (!w) continue;
    sum->resident_kib += w->resident_kib;
    sum->anonymous_kib += w->anonymous_kib;
    sum->descriptors += w->descriptors;
  }
  return sum;
}

MemorySample mean_of(const std::vector<MemorySample>& all) {
  MemorySample sum;
  for (const MemorySample& w : all) {
    sum.at_s += w.at_s;
    sum.resident_kib += w.resident_kib;
    sum.anonymous_kib += w.anonymous_kib;
    sum.descriptors += w.descriptors;
  }
  const auto n = static_cast<double>(all.size());
  return {sum.at_s / n, sum.resident_kib / n, sum.anonymous_kib / n, sum.descriptors / n};
}

/// Of minutes, because samples of every few seconds are hardly independent.
Trend trend_from(double from_s, const std::vector<MemorySample>& course,
                 double MemorySample::*what) {
  std::vector<double> at, values;
  for (const MemorySample& minute : course) {
    if (minute.at_s < from_s) continue;
    at.push_back(minute.at_s);
    values.push_back(minute.*what);
  }
  return trend(at, values);
}

/// The processes, by the times of their last samples.
class MemorySampler {
 public:
  void started(pid_t pid) { of_[{pid, start_of(pid)}]; }
  void weigh_all(double now_s) {
    if (now_s < next_s_) return;
    next_s_ = now_s + kSampleEvery_s;
    const sim::live::ProcessTable table;
    for (auto& [process, weighed] : of_) {
      const auto& [pid, start] = process;
      if (start.empty() || start_of(pid) != start) continue;
      if (const auto w = weigh_tree(table, pid, now_s)) weighed.push_back(*w);
    }
    last_s_ = now_s;
  }

  void sum_up(SoakReport& report) const {
    const double from = last_s_ / 4;
    std::map<int, std::vector<MemorySample>> minutes;
    for (const auto& [process, all] : of_) {
      if (all.empty() || all.front().at_s > from || all.back().at_s < last_s_) continue;
      ++report.measured;
      for (const MemorySample& w : all) minutes[static_cast<int>(w.at_s / 60)].push_back(w);
    }
    for (const auto& [minute, weighed] : minutes) report.course.push_back(mean_of(weighed));
    report.resident_kib = trend_from(from, report.course, &MemorySample::resident_kib);
    report.anonymous_kib = trend_from(from, report.course, &MemorySample::anonymous_kib);
    report.descriptors = trend_from(from, report.course, &MemorySample::descriptors);
  }

 private:
  std::map<std::pair<pid_t, std::string>, std::vector<MemorySample>> of_;
  double next_s_ = 0, last_s_ = 0;
};

std::string what_grew(const SoakReport& report, bool foreign) {
  if (report.too_short()) return "";
  const auto& kib = report.anonymous_kib;
  const double theirs = foreign ? kMostGrowthOfTheirs * kib.mean : 0;
  if (kib.grew(std::max(kMostGrowth_kib, theirs))) {
    return "anonymous memory grew by " + std::to_string(std::llround(kib.growth)) + " KiB of " +
           std::to_string(std::llround(kib.mean)) + " a process";
  }
  if (report.descriptors.grew(kMostDescriptors)) {
    return "descriptors grew by " + std::to_string(report.descriptors.growth) + " a process";
  }
  return "";
}

}  // namespace

sim::Plan soak_plan(const SoakOptions& options) {
  auto limits = live_limits();
  limits.processes = {options.processes, options.processes};
  limits.locks = {options.locks, options.locks};
  limits.foreign = options.foreign.has_value();
  limits.faulty_ms = std::int64_t{options.minutes} * 60'000;
  auto plan = options.set.possible(draw_plan(options.seed, limits));
  for (auto& process : plan.processes) {
    process.hold_ms = kHold_ms;
    process.expiry_ms *= kLongerLeases;
    process.acquire_timeout_ms *= kLongerLeases;
  }
  std::size_t kills = 0;
  std::erase_if(plan.faults, [&](const sim::FaultPlan& f) {
    return sim::hits_process(f.kind) && kills++ % kOneKillIn != 0;
  });
  for (auto& fault : plan.faults) {
    if (!sim::hits_process(fault.kind)) continue;
    fault.process = fault.pick % (options.processes / 2) * 2 + 1;
  }
  return plan;
}

Trend trend(const std::vector<double>& x, const std::vector<double>& y) {
  Trend t;
  if (x.empty()) return t;
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  t.mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double along = 0, spread = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    along += (x[i] - mean_x) * (y[i] - t.mean);
    spread += (x[i] - mean_x) * (x[i] - mean_x);
  }
  if (spread == 0) return t;
  const double slope = along / spread, length = x.back() - x.front();
  t.growth = slope * length;
  if (x.size() < 3) return t;
  double missed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    missed += std::pow(y[i] - t.mean - slope * (x[i] - mean_x), 2);
  }
  t.error = std::sqrt(missed / (n - 2) / spread) * length;
  return t;
}

model::Verdict SoakReport::verdict() const {
  const auto found = model::overall(findings);
  if (found != model::Verdict::holds) return found;
  if (!grown.empty()) return model::Verdict::violated;
  const bool unknown = interrupted || measured == 0 || too_short();
  return unknown ? model::Verdict::unknown : found;
}

SoakReport soak(const SoakOptions& options,
                const std::function<void(const sim::live::Progress&)>& on_progress,
                const std::function<bool()>& stop) {
  const auto began = SteadyClock::now();
  const auto plan = soak_plan(options);
  sim::live::RunSite site(options.set,
                          {.election_timeout_ms = plan.election_timeout_ms, .faulty = true});
  sim::live::Janitor janitor;
  SoakReport report;
  MemorySampler scales;
  auto run = site.run_in("leasehold_soak_" + std::to_string(options.seed), janitor, "soak");
  run.on_start = [&](pid_t pid) { scales.started(pid); };
  run.on_progress = [&](const sim::live::Progress& progress) {
    if (progress.phase == "faults") scales.weigh_all(progress.elapsed_s);
    report.faults = progress.faults;
    on_progress(progress);
  };
  run.stop = stop;
  run.foreign = options.foreign;
  const auto promises = options.foreign ? std::optional(options.foreign->promises) : std::nullopt;
  report.history = sim::live::run_live(plan, run).history;
  report.findings = judge(report.history, promises).findings;
  conclude(report.findings, {.live = true});
  report.stalls = stalls_in(report.history);
  report.harness_failure = model::harness_failure(report.history);
  report.totals = totals_of(report.history, report.findings);
  if (model::overall(report.findings) != model::Verdict::holds) {
    report.kept = options.keep_folder + "/soak-" + std::to_string(options.seed);
    keep_run(report.kept, plan, report.history, report.findings, site.log_files(), promises);
  }
  report.elapsed_s = std::chrono::duration<double>(SteadyClock::now() - began).count();
  scales.sum_up(report);
  report.grown = what_grew(report, options.foreign.has_value());
  report.interrupted = stop();
  report.left_behind = site.leave();
  return report;
}

}  // namespace leasehold::properties
