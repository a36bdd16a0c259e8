#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "properties/campaigns/verify.hpp"
#include "sim/live/system/child_process.hpp"

/// A soak: how the processes of one long run grow.
namespace leasehold::properties {
namespace {

namespace fs = std::filesystem;
using model::Finding;

constexpr double kSampleEvery_s = 5;
/// In less time pools and caches still fill, so that growth shows nothing.
constexpr int kShortestMinutes = 20;
/// Faults of a short run, drawn as often, would leave a long one little but restarts.
constexpr std::size_t kOneKillIn = 8;
constexpr std::int64_t kHold_ms = 200, kLongerLeases = 4;
/// The largest rise of a fitted line, because memory comes in pages. A leak of 50 bytes an
/// acquisition is more in an hour.
constexpr double kMostGrowth_kib = 48;
constexpr double kMostDescriptors = 0.5;
/// The memory of a user's worker may grow more, because its language may collect garbage now and
/// then.
constexpr double kMostGrowthOfTheirs = 0.05;

/// Its start time in the kernel's ticks, which tells a process from a later process, or a thread of
/// another, with the same number. Empty once it is gone.
std::string start_of(pid_t pid) {
  constexpr std::size_t kStart = 19;
  const auto stat = sim::live::kernel_stat(pid);
  return stat.size() > kStart ? stat[kStart] : "";
}

/// Its own and that of all that it started, because a shell may run the worker. Nothing once it is
/// gone.
std::optional<MemorySample> weigh(const sim::live::ProcessTable& table, pid_t root, double at_s) {
  MemorySample sum{at_s};
  bool there = false;
  for (const pid_t pid : table.tree(root)) {
    const auto proc = "/proc/" + std::to_string(pid);
    std::ifstream status(proc + "/status");
    MemorySample w;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) w.values[kResident_kib] = std::stod(line.substr(6));
      if (line.starts_with("RssAnon:")) w.values[kAnonymous_kib] = std::stod(line.substr(8));
    }
    std::error_code gone;
    for (auto at = fs::directory_iterator(proc + "/fd", gone); !gone && at != end(at);) {
      ++w.values[kDescriptors];
      at.increment(gone);
    }
    if (gone || w.values[kResident_kib] == 0) continue;
    there = there || pid == root;
    for (std::size_t m = 0; m < kMeasures.size(); ++m) sum.values[m] += w.values[m];
  }
  return there ? std::optional(sum) : std::nullopt;
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
      if (const auto w = weigh(table, pid, now_s)) weighed.push_back(*w);
    }
    last_s_ = now_s;
  }

  [[nodiscard]] Growth sum_up() const {
    Growth growth;
    const double from = last_s_ / 4;
    std::map<int, std::vector<MemorySample>> minutes;
    for (const auto& [process, all] : of_) {
      if (all.empty() || all.front().at_s > from || all.back().at_s < last_s_) continue;
      ++growth.measured;
      for (const MemorySample& w : all) minutes[static_cast<int>(w.at_s / 60)].push_back(w);
    }
    // Samples of every few seconds are hardly independent.
    for (const auto& [minute, weighed] : minutes) {
      auto& mean = growth.course.emplace_back();
      const auto n = static_cast<double>(weighed.size());
      for (const MemorySample& w : weighed) {
        mean.at_s += w.at_s / n;
        for (std::size_t m = 0; m < kMeasures.size(); ++m) mean.values[m] += w.values[m] / n;
      }
    }
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
      std::vector<double> at, values;
      for (const MemorySample& w : growth.course) {
        if (w.at_s < from) continue;
        at.push_back(w.at_s);
        values.push_back(w.values[m]);
      }
      growth.trends[m] = trend(at, values);
    }
    return growth;
  }

 private:
  std::map<std::pair<pid_t, std::string>, std::vector<MemorySample>> of_;
  double next_s_ = 0, last_s_ = 0;
};

}  // namespace

sim::Plan soak_plan(const VerifyOptions& options) {
  auto limits = limits_of(options);
  limits.faulty_ms = std::int64_t{options.seconds} * 1'000;
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
    fault.process = fault.pick % (*options.processes / 2) * 2 + 1;
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

Finding growth_finding(const Growth& growth, double elapsed_s, bool foreign) {
  Finding found{.check = model::Check::growth};
  if (elapsed_s < 60 * kShortestMinutes || growth.measured == 0) {
    found.leave_open(model::Open::too_seldom,
                     fmt::format("too short to measure growth: {} minutes at least",
                                 kShortestMinutes));
    return found;
  }
  found.checked = growth.measured;
  const auto &kib = growth.trends[kAnonymous_kib], &descriptors = growth.trends[kDescriptors];
  const double theirs = foreign ? kMostGrowthOfTheirs * kib.mean : 0;
  if (kib.grew(std::max(kMostGrowth_kib, theirs))) {
    found.why = fmt::format("anonymous memory grew by {:.0f} KiB of {:.0f} a process", kib.growth,
                            kib.mean);
  } else if (descriptors.grew(kMostDescriptors)) {
    found.why = "descriptors grew by " + std::to_string(descriptors.growth) + " a process";
  }
  if (!found.why.empty()) found.verdict = model::Verdict::violated;
  return found;
}

VerifyReport soak(VerifyOptions options, const OnProgress& on_progress,
                  const std::function<bool()>& stop) {
  MemorySampler scales;
  options.plan = soak_plan(options);
  options.drawn = options.until_violated = true;
  options.only_case = 0;
  options.on_start = [&](pid_t pid) { scales.started(pid); };
  const auto weigh_and_tell = [&](const VerifyReport& so_far, const sim::live::Progress& now) {
    if (now.phase == "faults") scales.weigh_all(now.elapsed_s);
    on_progress(so_far, now);
  };
  auto run = verify(options, weigh_and_tell, stop);
  run.growth = scales.sum_up();
  run.findings.push_back(growth_finding(*run.growth, run.elapsed_s, options.foreign.has_value()));
  if (!run.kept.empty()) {
    run.repeat = fmt::format("leasehold-lab soak --seed {} --minutes {} --processes {} --locks {}",
                             options.seed, options.seconds / 60, *options.processes,
                             *options.locks);
  }
  static_cast<CampaignAnswer&>(run) =
      answer(run.findings, {.harness_failure = run.harness_failure,
                            .interrupted = run.interrupted,
                            .stood_still = run.stalls.mostly(),
                            .see_more = "run with more --minutes"});
  return run;
}

}  // namespace leasehold::properties
