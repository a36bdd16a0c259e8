#include "properties/verify.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "properties/plans.hpp"
#include "properties/run_folder.hpp"
#include "properties/simulate.hpp"

namespace leasehold::properties {
namespace {

namespace fs = std::filesystem;
using model::Finding;
using model::Verdict;
using SteadyClock = std::chrono::steady_clock;

constexpr int kCaseSeconds = 20;
constexpr int kQuietEvery = 4;  ///< of so many cases one has healthy servers
constexpr double kHealingSeconds = 2.8;
constexpr int kEveryKindFrom_s = 240;
constexpr int kVirtualTries = 20;
constexpr int kMostVirtualRuns = 100;
constexpr int kLiveTries = 2;
constexpr int kReduced = 1'000'000;  ///< numbers the databases of the plan made small

/// What a minute has to show before "holds" means something.
model::Floors floors_for(const VerifyOptions& options) {
  const model::Floors per_minute{{"G1", 200}, {"G2", 200}, {"G3", 100}, {"G4", 200}, {"G5", 3},
                                 {"G6", 200}, {"G7", 200}, {"G8", 2},   {"G9", 50}};
  model::Floors floors;
  for (const auto& [guarantee, count] : per_minute) {
    floors[guarantee] = count * options.seconds * options.floor_percent / 6'000;
  }
  return floors;
}

/// The least of what makes a run interesting, in 300 s.
std::map<std::string, std::int64_t> interesting(const VerifyOptions& options) {
  std::map<std::string, std::int64_t> floors;
  if (options.faults.contains("process")) {
    floors = {{"acquisitions", 5'000}, {"takeovers", 40}, {"extensions", 60}, {"crash", 20},
              {"stale_writes", 5},     {"pause", 20},     {"hand_overs", 20}, {"held_too_long", 5}};
  }
  if (options.uri.empty()) {
    const std::map<std::string, std::int64_t> groups{
        {"failover", 30}, {"network", 100}, {"ttl", 20}, {"majority", 15}, {"errors", 20}};
    for (const auto& [group, floor] : groups) {
      if (options.faults.contains(group)) floors[group + " faults"] = floor;
    }
    if (options.faults.contains("clock")) floors["clock-jump"] = 30;
  }
  for (auto& [key, count] : floors) {
    count = count * options.seconds * options.floor_percent / 30'000;
  }
  // In a run that is long enough every kind has to be felt.
  for (int k = 0; k < sim::kFaultKinds && options.seconds >= kEveryKindFrom_s; ++k) {
    const auto kind = static_cast<sim::FaultPlan::Kind>(k);
    const bool can = options.uri.empty() || sim::hits_process(kind);
    if (can && options.faults.contains(sim::group_of(kind))) {
      floors.emplace(sim::to_string(kind), 1);
    }
  }
  return floors;
}

/// Faults that bit, by group.
Totals by_group(const std::map<std::string, std::int64_t>& faults) {
  Totals sums;
  for (const auto& [name, count] : faults) {
    const auto kind = sim::fault_named(name);
    if (kind) sums[std::string(sim::group_of(*kind)) + " faults"] += count;
  }
  return sums;
}

class Run {
 public:
  Run(const VerifyOptions& options,
      const std::function<void(const VerifyReport&, const sim::live::Progress&)>& on_progress,
      const std::function<bool()>& stop)
      : options_(options), on_progress_(on_progress), stop_(stop) {
    report_.options = options;
    if (options.uri.empty()) {
      servers_ = std::make_unique<sim::live::ReplicaSet>(sim::live::ReplicaSetOptions{
          .election_timeout_ms = options.plan.value_or(sim::Plan()).election_timeout_ms,
          .faulty = true});
    }
  }

  VerifyReport go() {
    const int drawn = options_.only_case ? 1 : std::max(1, options_.seconds / kCaseSeconds);
    const int cases = options_.plan ? options_.times : drawn;
    const double seconds = static_cast<double>(options_.seconds) / cases;
    const double faulty = std::max(seconds - kHealingSeconds, seconds / 2);
    for (int i = 0; i < cases && !stop_(); ++i) {
      one_case(options_.only_case.value_or(i), static_cast<std::int64_t>(faulty * 1'000));
    }
    report_.interrupted = stop_();
    finish();
    if (failed_ && !stop_()) reduce();
    return std::move(report_);
  }

 private:
  void one_case(int number, std::int64_t faulty_ms) {
    const auto plan = options_.plan ? given_plan(number) : drawn_plan(number, faulty_ms);
    run_case(number, plan);
  }

  sim::Plan given_plan(int number) {
    sim::Plan plan = *options_.plan;
    plan.seed += static_cast<std::uint64_t>(number);
    return plan;
  }

  sim::Plan drawn_plan(int number, std::int64_t faulty_ms) const {
    PlanLimits limits;
    limits.processes = options_.processes;
    limits.locks = options_.locks;
    limits.lock = options_.lock;
    limits.faulty_ms = faulty_ms;
    limits.groups = options_.faults;
    // Takeovers in bounded time are judged only where the servers are left alone.
    if (number % kQuietEvery == kQuietEvery - 1) limits.groups = {"process"};
    limits.own_servers = servers_ != nullptr;
    return draw_plan(options_.seed + static_cast<std::uint64_t>(number), limits);
  }

  model::History run_plan(int number, const sim::Plan& plan, sim::live::Progress& last) {
    sim::live::LiveRun run;
    run.uri = servers_ ? servers_->uri() : options_.uri;
    run.servers = servers_.get();
    run.database =
        "leasehold_verify_" + std::to_string(options_.seed) + "_" + std::to_string(number);
    run.janitor = &janitor_;
    run.folder = janitor_.folder() + "/case-" + std::to_string(number);
    fs::create_directories(run.folder);
    run.on_progress = [&](const sim::live::Progress& progress) {
      last = progress;
      if (on_progress_) on_progress_(report_, progress);
    };
    run.stop = stop_;
    auto history = sim::live::run_live(plan, run);
    fs::remove_all(run.folder);
    return history;
  }

  void run_case(int number, const sim::Plan& plan) {
    sim::live::Progress last;
    auto history = run_plan(number, plan, last);
    const auto [findings, arrows] = judge(history);
    sim::add(report_.arrows, arrows);
    ++report_.cases;
    report_.processes = std::max(report_.processes, static_cast<int>(plan.processes.size()));
    report_.locks = std::max(report_.locks, plan.locks);
    add(report_.totals, totals_of(history, findings));
    add(report_.faults, last.faults);
    merge(report_.findings, findings);
    const bool failed = model::overall(findings) != Verdict::holds && !stop_();
    report_.failed += failed ? 1 : 0;
    if (failed || options_.keep_all) keep(number, plan, history, findings, failed);
    if (!failed_) report_.shown = std::move(history);
    if (failed && !failed_) failed_ = Failed{plan, first_violated(findings)};
  }

  static std::string first_violated(const std::vector<Finding>& findings) {
    const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& f) {
      return f.verdict == Verdict::violated;
    });
    return found == findings.end() ? "" : found->guarantee;
  }

  /// The first plan that failed, made small where runs are cheap and exact, and tried live again.
  void reduce() {
    const auto& guarantee = failed_->guarantee;
    if (guarantee.empty()) return;
    int runs = 0;  // a bound: smaller is better, smallest is not needed
    const auto fails = [&](const sim::Plan& plan) {
      if (++runs > kMostVirtualRuns) return false;
      return breaks(simulate(plan).judged, guarantee);
    };
    sim::Plan plan = failed_->plan;
    int tried = 0;
    while (tried < kVirtualTries && !fails(plan)) ++tried, ++plan.seed;
    if (tried == kVirtualTries) {
      report_.reduced = "in the virtual world the failing plan breaks no " + guarantee + " in " +
                        std::to_string(tried) + " seeds";
      return;
    }
    plan = minimise(plan, fails);
    const auto file = fs::path(report_.kept.front()) / "smallest.scn";
    std::ofstream(file) << to_scn(plan);
    int hits = 0;
    for (int i = 0; i < kLiveTries && !stop_(); ++i) {
      sim::live::Progress last;
      const auto findings = judge(run_plan(kReduced + i, plan, last)).findings;
      hits += first_violated(findings).empty() ? 0 : 1;
    }
    report_.reduced = "made small in the virtual world, " + std::to_string(entries(plan)) +
                      " entries: " + file.string() + "; tried live, it failed in " +
                      std::to_string(hits) + " of " + std::to_string(kLiveTries) + " runs";
  }

  void keep(int number, const sim::Plan& plan, const model::History& history,
            const std::vector<Finding>& findings, bool failed) {
    const auto folder =
        options_.keep_folder + "/" + std::to_string(options_.seed) + "-" + std::to_string(number);
    keep_run(folder, plan, history, findings, servers_.get());
    report_.kept.push_back(folder);
    if (failed && report_.repeat.empty()) report_.repeat = repeat_command(number);
  }

  std::string repeat_command(int number) const {
    std::string command =
        "leasehold-lab verify --seed " + std::to_string(options_.seed) + " --case " +
        std::to_string(number) + " --seconds " +
        std::to_string(options_.seconds / std::max(1, options_.seconds / kCaseSeconds));
    if (options_.processes) command += " --processes " + std::to_string(*options_.processes);
    if (options_.locks) command += " --locks " + std::to_string(*options_.locks);
    if (options_.lock != "leasehold") command += " --lock " + options_.lock;
    std::string groups;
    for (const auto& group : options_.faults) groups += (groups.empty() ? "" : ",") + group;
    if (options_.faults.size() != sim::fault_groups().size()) {
      command += " --faults " + (groups.empty() ? "none" : groups);
    }
    return command;
  }

  void finish() {
    report_.elapsed_s = std::chrono::duration<double>(SteadyClock::now() - began_).count();
    if (options_.plan) return;  // a chosen plan has no floors: its hit rate is the result
    const auto floors = floors_for(options_);
    for (Finding& f : report_.findings) {
      const auto floor = floors.find(f.guarantee);
      if (floor != floors.end()) f.floor = floor->second;
      if (f.verdict == Verdict::holds && f.checked < f.floor) {
        f.verdict = Verdict::unknown;
        f.why = "checked " + std::to_string(f.checked) + " times, the floor is " +
                std::to_string(f.floor);
      }
    }
    auto seen = report_.totals;
    add(seen, report_.faults);
    add(seen, by_group(report_.faults));
    for (const auto& [what, floor] : interesting(options_)) {
      if (seen[what] >= floor || report_.findings.empty()) continue;
      Finding& form = report_.findings.front();
      if (form.verdict == Verdict::violated) continue;
      form.verdict = Verdict::unknown;
      form.why = what + " happened " + std::to_string(seen[what]) + " times, the floor is " +
                 std::to_string(floor);
    }
  }

  const VerifyOptions& options_;
  const std::function<void(const VerifyReport&, const sim::live::Progress&)>& on_progress_;
  const std::function<bool()>& stop_;
  struct Failed {
    sim::Plan plan;
    std::string guarantee;
  };
  std::optional<Failed> failed_;
  const SteadyClock::time_point began_ = SteadyClock::now();
  std::unique_ptr<sim::live::ReplicaSet> servers_;
  sim::live::Janitor janitor_;
  VerifyReport report_;
};

}  // namespace

Verdict VerifyReport::verdict() const {
  const auto found = model::overall(findings);
  return found == Verdict::holds && (interrupted || findings.empty()) ? Verdict::unknown : found;
}

VerifyReport verify(
    const VerifyOptions& options,
    const std::function<void(const VerifyReport&, const sim::live::Progress&)>& on_progress,
    const std::function<bool()>& stop) {
  return Run(options, on_progress, stop).go();
}

}  // namespace leasehold::properties
