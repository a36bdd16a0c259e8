#include "properties/campaigns/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "model/history/from_outside.hpp"
#include "model/workers/worker_judge.hpp"
#include "mongo/client/uri.hpp"
#include "sim/plan/plan_fields.hpp"
#include "sim/virtual/cluster.hpp"

namespace leasehold::properties {
namespace {

namespace fs = std::filesystem;
using model::Finding;
using model::Check;
using model::Kind;
using model::Verdict;
using SteadyClock = std::chrono::steady_clock;
using Places = std::set<std::int64_t>;

constexpr int kQuietEvery = 4;  ///< one of this many cases has healthy servers
constexpr double kHealingSeconds = 2.8;
constexpr int kVirtualTries = 20;
constexpr int kMostVirtualRuns = 300;
constexpr std::chrono::seconds kVirtualLimit{60};  ///< of the two together, on a busy machine
constexpr int kLiveTries = 2, kTriesOfFew = 4;
constexpr std::size_t kFew = 3;  ///< entries
constexpr int kReduced = 1'000'000;  ///< numbers the databases of the plan made small
constexpr const char* kDatabases = "leasehold_verify_";

sim::Plan drawn_plan(const VerifyOptions& options, int number, double seconds) {
  auto limits = limits_of(options);
  limits.lock = options.lock;
  limits.waitings = options.waitings;
  limits.faulty_ms =
      static_cast<std::int64_t>(std::max(seconds - kHealingSeconds, seconds / 2) * 1'000);
  limits.groups = options.faults;
  // Takeovers in bounded time are checked only where the servers are left alone.
  const bool quiet = number % kQuietEvery == kQuietEvery - 1;
  if (quiet) std::erase_if(limits.groups, [](const auto& group) { return group != "process"; });
  const auto seed = options.seed + static_cast<std::uint64_t>(number);
  auto plan = options.set.possible(draw_plan(seed, limits));
  if (!options.foreign) return plan;
  // So that some holdings last until another process can have the lock, by any clocks.
  const auto margins_ms = 2 * options.foreign->promises.clock_margin_ms.value_or(0);
  for (auto& process : plan.processes) {
    const auto leases = process.long_hold_leases + margins_ms / process.expiry_ms;
    process.long_hold_leases = static_cast<int>(std::min(leases, sim::fields::kMostLongHoldLeases));
  }
  return plan;
}

/// For a shell.
std::string quoted(const std::string& word) {
  return "'" + boost::replace_all_copy(word, "'", "'\\''") + "'";
}

constexpr std::int64_t kSliceBefore_ms = 1'000;     ///< of a violation's first event
constexpr std::int64_t kSliceLateness_ms = 1'500;   ///< of a fault, with the start of the processes
constexpr std::int64_t kFirstFault_ms = 500;   ///< in a slice: the processes contend by then
constexpr std::int64_t kLeastFaulty_ms = 6'000;  ///< so that chance has some time

bool is_of_the_plan(const std::string& process) {
  return process.size() > 1 && process.front() == 'p' &&
         std::isdigit(static_cast<unsigned char>(process[1])) != 0;
}

/// The places of the processes that a finding's events name.
void add_places(const model::History& history, const Finding& finding, Places& places) {
  for (const auto i : finding.events) {
    const auto& process = history.at(i).process;
    if (is_of_the_plan(process)) places.insert(sim::simulated::place_of(process));
  }
}

/// Whether the fault hit one of these, or what is no process, when it was due or soon after.
bool hit_one_of(const Places& places, const sim::FaultPlan& fault, const model::History& history) {
  const auto due_ns = history.front().at_ns + fault.at_ms * model::kMs;
  return std::ranges::any_of(history, [&](const model::Event& e) {
    const bool is_fault = e.kind == Kind::fault && !e.ends;
    const auto& victim = is_fault ? e.victim : e.process;
    const std::string what = is_fault                ? e.fault
                             : e.kind == Kind::crash ? "crash"
                             : e.kind != Kind::pause ? ""
                             : e.suspended           ? "suspend"
                                                     : "pause";
    return what == to_string(fault.kind) && e.at_ns >= due_ns &&
           e.at_ns <= due_ns + kSliceLateness_ms * model::kMs &&
           (!is_of_the_plan(victim) || places.contains(sim::simulated::place_of(victim)));
  });
}

/// The plan with these processes alone, and the faults that pass. Its first fault comes soon, and
/// after the last one there is time for what follows from it.
sim::Plan slice_of(const sim::Plan& plan, const Places& places,
                   const std::function<bool(const sim::FaultPlan&)>& passes) {
  sim::Plan slice = plan;
  slice.locks = 1;
  slice.processes.clear();
  std::map<std::int64_t, std::int64_t> now{{-1, -1}};  // by what was its place
  std::int64_t first_ms = plan.faulty_ms, over_ms = 0, longest_ms = 0;
  for (const auto was : places) {
    now[was] = std::ssize(slice.processes);
    slice.processes.push_back(plan.processes.at(static_cast<std::size_t>(was)));
    longest_ms = std::max(longest_ms, slice.processes.back().expiry_ms);
  }
  std::erase_if(slice.faults,
                [&](const auto& f) { return !now.contains(f.process) || !passes(f); });
  for (const auto& fault : slice.faults) first_ms = std::min(first_ms, fault.at_ms);
  for (auto& fault : slice.faults) {
    fault.process = now.at(fault.process);
    fault.at_ms -= std::max<std::int64_t>(first_ms - kFirstFault_ms, 0);
    over_ms = std::max(over_ms, fault.at_ms + fault.for_ms);
  }
  const auto enough_ms = std::max(over_ms + 2 * longest_ms, kLeastFaulty_ms);
  slice.faulty_ms = std::min(slice.faulty_ms, enough_ms);
  return slice;
}

class Run {
 public:
  Run(const VerifyOptions& options, const OnProgress& on_progress,
      const std::function<bool()>& stop)
      : options_(options), on_progress_(on_progress), stop_(stop) {
    report_.options = options;
  }

  VerifyReport go() {
    std::vector<VerifyCase> ran;
    for (auto& one : cases_of(options_)) {
      const bool found = options_.until_violated && report_.violated_after_s;
      if (stop_() || found || nobody_ready_ || !report_.harness_failure.empty()) break;
      run_case(one);
      ran.push_back(std::move(one));
    }
    report_.plans_hash = hash_of(ran);
    go_on(static_cast<int>(ran.size()));
    finish();
    const bool reducible = report_.harness_failure.empty() && !stop_() && !options_.until_violated;
    if (broken_ && reducible && (!options_.foreign || options_.plan)) reduce(*broken_);
    if (broken_ && options_.foreign && !options_.plan) {
      auto alone = options_;
      alone.plan = broken_->plan;
      alone.plan_file = broken_->folder + "/plan.scn";
      report_.reduced =
          "to make its plan smaller: " + repeat_command(alone, 0) + " (three minutes at most)";
    }
    report_.proxied = site_.traffic();
    report_.left_behind = site_.leave();
    return std::move(report_);
  }

 private:
  /// A slow machine sees as much as a fast one, only later.
  void go_on(int next) {
    const auto another = [&] {
      report_.interrupted = stop_();
      report_.elapsed_s = elapsed_s();
      return goes_on(report_);
    };
    for (; another(); ++next) {
      if (report_.went_on_for.empty()) {
        report_.went_on_after_s = report_.elapsed_s;
        report_.went_on_for = shortfalls(report_);
      }
      auto alone = options_;
      alone.only_case = next;
      auto one = cases_of(alone).front();
      one.settles |= settles_at_last(report_);
      run_case(one);
    }
  }

  /// Nothing if the harness failed. The report has what the cases before showed. What this machine
  /// lacks (servers, threads, space) goes on, because the command has the words for it.
  std::optional<sim::RunResult> try_plan(const VerifyCase& one) {
    try {
      const auto number = std::to_string(one.number);
      const auto database = kDatabases + std::to_string(options_.seed) + "_" + number;
      auto run = site_.run_in(database, janitor_, "case-" + number);
      if (!one.settles) run.settle_ms = 0;
      run.on_progress = [&](const sim::live::Progress& progress) {
        report_.past_proxies.insert(progress.past_proxies.begin(), progress.past_proxies.end());
        tell(progress);
      };
      run.stop = stop_;
      run.on_start = options_.on_start;
      run.foreign = options_.foreign;
      auto result = sim::live::run_live(one.plan, run);
      fs::remove_all(run.folder);
      return result;
    } catch (const sim::live::NoServers&) {
      throw;
    } catch (const std::system_error&) {
      throw;
    } catch (const std::exception& error) {
      report_.harness_failure = error.what();
      return std::nullopt;
    }
  }

  void run_case(const VerifyCase& one) {
    auto run = try_plan(one);
    if (!run) return;
    auto& history = run->history;
    const auto judgement = judge(history, report_.promises());
    const auto& findings = judgement.findings;
    report_.add({*run, judgement});
    report_.harness_failure = model::harness_failure(history);
    report_.stalls.add(stalls_in(history));
    // Another run would show no more.
    nobody_ready_ = std::ranges::count(history, model::kNeverReady, &model::Event::outcome) > 0 &&
                    std::ranges::count(history, Kind::ask, &model::Event::kind) == 0;
    ++report_.cases;
    report_.processes = std::max(report_.processes, static_cast<int>(one.plan.processes.size()));
    report_.locks = std::max(report_.locks, one.plan.locks);
    const bool failed = !stop_() && std::ranges::any_of(findings, is_against);
    report_.failed += failed ? 1 : 0;
    std::string folder;
    if (failed) folder = keep(one, history, findings);
    const auto check = first_violated(findings);
    if (check && !report_.violated_after_s) report_.violated_after_s = elapsed_s();
    if (failed && check && !broken_) {
      broken_ = Broken{one.plan, *check, folder, slices(one.plan, history, findings, *check)};
    }
    const bool failed_before = report_.failed > (failed ? 1 : 0);
    if (!failed_before) report_.shown = std::move(history);
  }

  /// A run with an unknown result is none: minutes of smaller ones would tell nothing.
  struct Broken {
    sim::Plan plan;
    Check check;
    std::string folder;  ///< where it is kept
    std::vector<sim::Plan> slices;
  };

  /// The first failing plan, shrunk in the virtual world, where runs are cheap and exact; live, if
  /// that shows nothing of a real set. What took part in the violation is tried first, because live
  /// the time is over before a descent from the whole plan is.
  void reduce(const Broken& broken) {
    reducing_since_ = SteadyClock::now();
    // A lock that dies would take this process with it.
    const bool may_die = broken.check == Check::alive;
    if (!options_.foreign && !may_die && reduce_virtually(broken)) return;
    if (!sim::is_scripted(broken.plan) && !stop_()) reduce_live(broken);
  }

  void tell(const sim::live::Progress& progress) {
    if (!on_progress_) return;
    if (reducing_since_) report_.minimising_s = seconds_since(*reducing_since_);
    on_progress_(report_, progress);
  }

  /// Whether the result fails live.
  bool reduce_virtually(const Broken& broken) {
    int runs = 0;  // bounds: smaller is better, smallest is not needed
    const auto fails = [&](const sim::Plan& plan) {
      const bool over = SteadyClock::now() - *reducing_since_ > kVirtualLimit;
      if (++runs > kMostVirtualRuns || over || stop_()) return false;
      tell({});
      return breaks(simulate(plan).judgement, broken.check);
    };
    sim::Plan plan = broken.plan;
    int tried = 0;
    while (tried < kVirtualTries && !fails(plan)) ++tried, ++plan.seed;
    if (tried == kVirtualTries) {
      report_.reduced =
          fmt::format("in the virtual world the failing plan does not break {} in {} seeds",
                      to_string(broken.check), tried);
      return false;
    }
    plan = minimise(plan, fails, broken.slices);
    int hits = 0;
    for (int i = 0; i < kLiveTries && !stop_(); ++i) hits += breaks_live(plan, broken.check);
    keep_smallest(broken, plan, "minimised in the virtual world in " + std::to_string(runs));
    report_.reduced += fmt::format("; tried live, it failed in {} of {} runs", hits, kLiveTries);
    return hits > 0;
  }

  /// With few tries, because each takes as long as the plan; the fewer entries it has, the fewer
  /// chances has a run.
  void reduce_live(const Broken& broken) {
    const int before = reducing_runs_;
    const auto fails = [&](const sim::Plan& plan) {
      const int tries = entries(plan) <= kFew ? kTriesOfFew : kLiveTries;
      for (int i = 0; i < tries; ++i) {
        if (SteadyClock::now() - *reducing_since_ > kMinimisingLimit || stop_()) return false;
        if (breaks_live(plan, broken.check)) return true;
      }
      return false;
    };
    const auto plan = minimise(broken.plan, fails, broken.slices);
    keep_smallest(broken, plan, "minimised live in " + std::to_string(reducing_runs_ - before));
  }

  bool breaks_live(const sim::Plan& plan, Check check) {
    const auto run = try_plan({kReduced + reducing_runs_++, plan, check == Check::G8});
    return run && breaks(judge(run->history, report_.promises()), check);
  }

  /// Beside the plan that it came from.
  void keep_smallest(const Broken& broken, const sim::Plan& plan, const std::string& how) {
    const auto file = fs::path(broken.folder) / "smallest.scn";
    std::ofstream(file) << to_scn(plan);
    if (!report_.reduced.empty()) report_.reduced += "\n";
    report_.reduced += fmt::format("{} runs, from {} to {} entries: {}", how, entries(broken.plan),
                                   entries(plan), file.string());
  }

  /// Returns the folder.
  std::string keep(const VerifyCase& one, const model::History& history,
                   const std::vector<Finding>& findings) {
    const auto folder = fmt::format("{}/{}-{}", options_.keep_folder, options_.seed, one.number);
    keep_run(folder, one.plan, history, findings, site_.log_files(), report_.promises());
    report_.kept.push_back(folder);
    if (!report_.repeat.empty()) return folder;
    report_.repeat = repeat_command(options_, one.number);
    report_.repeat_hash = sim::hash_of({one.plan});
    return folder;
  }

  void finish() {
    report_.elapsed_s = elapsed_s();
    conclude(report_.findings, {floors_for(options_), true, options_.plan && !options_.drawn});
    for (Finding& f : report_.findings) {
      if (!below_floor(f)) continue;
      const auto for_g8 = seconds_for_g8(options_);
      if (f.check == Check::G8 && has_slow_ttl(options_) && options_.seconds < for_g8) {
        f.why += fmt::format(": the TTL monitor runs once in {} s here, so it needs --seconds {}",
                             options_.set.ttl_period_ms / 1'000, for_g8);
      }
      if (options_.foreign && model::kByDocuments.contains(f.check)) {
        f.why += how_to_judge_more(f);
      }
    }
    add_activity();
    static_cast<CampaignAnswer&>(report_) =
        answer(report_.findings,
               {report_.harness_failure, nobody_ready_, report_.interrupted,
                report_.stalls.mostly(), to_string(idle(report_)), how_to_see_more()});
  }

  static double seconds_since(SteadyClock::time_point then) {
    return std::chrono::duration<double>(SteadyClock::now() - then).count();
  }
  double elapsed_s() const { return seconds_since(began_); }

  /// Only for a generated run, because a chosen plan asks for one check.
  std::string how_to_judge_more(const Finding& f) const {
    if (options_.plan || nobody_ready_) return "";
    const auto seconds = static_cast<std::int64_t>(options_.seconds) * f.floor;
    const auto needed = seconds / std::max<std::int64_t>(f.checked, 1) + 1;
    auto how = ": it needs about --seconds " + std::to_string(needed);
    if (options_.faults.size() > 1) {
      how += "; or --faults process, for little is certain of a worker's documents while servers "
             "or links are disturbed";
    }
    return how;
  }

  void add_activity() {
    std::vector<std::string> missing;
    for (const auto& [what, seen, floor] : idle(report_)) {
      missing.push_back(fmt::format("{} happened {} times, the floor is {}", what, seen, floor));
    }
    const bool stood_still = report_.stalls.mostly();
    if (stood_still) missing.push_back("longest stall " + to_string(report_.stalls));
    Finding activity{.check = Check::activity,
                     .verdict = missing.empty() ? Verdict::holds : Verdict::unknown,
                     .checked = static_cast<std::int64_t>(activity_floors(options_).size()),
                     .why = fmt::format("{}", fmt::join(missing, "; "))};
    const bool asked = activity.checked > 0 || stood_still;
    if (asked && !report_.findings.empty()) report_.findings.push_back(std::move(activity));
  }

  std::string how_to_see_more() const {
    // A scripted plan shows the same each time.
    if (options_.plan && sim::is_scripted(*options_.plan)) return "";
    if (options_.plan) {
      return fmt::format("run the plan more often, as --times {}, or change what it draws",
                         kMostTimesAsked * options_.times);
    }
    if (options_.only_case) return "run all cases of the seed, without --case";
    return fmt::format("run with more seconds, as --seconds {}",
                       kMostTimesAsked * options_.seconds);
  }

  const VerifyOptions& options_;
  const OnProgress& on_progress_;
  const std::function<bool()>& stop_;
  std::optional<Broken> broken_;  ///< the first
  std::optional<SteadyClock::time_point> reducing_since_;
  int reducing_runs_ = 0;         ///< live ones, of candidates for a smaller plan
  bool nobody_ready_ = false;     ///< of the last case's workers
  const SteadyClock::time_point began_ = SteadyClock::now();
  sim::live::RunSite site_{
      options_.set,
      {.election_timeout_ms = options_.plan.value_or(sim::Plan()).election_timeout_ms,
       .own_settings =
           options_.plan.value_or(sim::Plan()).heartbeat_ms >= sim::kOwnHeartbeat_ms,
       .faulty = true}};
  sim::live::Janitor janitor_;
  VerifyReport report_;
};

}  // namespace

PlanLimits limits_of(const VerifyOptions& options) {
  auto limits = live_limits();
  if (options.processes) limits.processes = {*options.processes, *options.processes};
  if (options.locks) limits.locks = {*options.locks, *options.locks};
  limits.foreign = options.foreign.has_value();
  limits.shares = !limits.foreign || options.foreign->promises.shares;
  return limits;
}

std::vector<VerifyCase> cases_of(const VerifyOptions& options) {
  const auto times = times_of(options);
  const int all = options.plan ? options.times : times.cases;
  std::vector<VerifyCase> cases;
  const int first = options.only_case.value_or(0);
  for (int i = first; i < (options.only_case ? first + 1 : all); ++i) {
    VerifyCase one{i, options.plan ? *options.plan : drawn_plan(options, i, times.case_s)};
    if (options.plan) one.plan.seed += static_cast<std::uint64_t>(i);
    one.settles = options.plan || !has_slow_ttl(options) || (times.settles && i + 1 >= all);
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<sim::Plan> slices(const sim::Plan& plan, const model::History& history,
                         const std::vector<Finding>& findings, model::Check check) {
  Places its, of_all, all;
  std::vector<model::Index> events;
  for (const Finding& f : findings) {
    if (f.verdict == model::Verdict::violated) add_places(history, f, of_all);
    if (f.check != check) continue;
    events = f.events;
    add_places(history, f, its);
  }
  if (its.empty() || is_scripted(plan)) return {};
  for (std::size_t i = 0; i < plan.processes.size(); ++i) all.insert(static_cast<std::int64_t>(i));
  const auto ms_of = [&](auto i) {
    return (history.at(i).at_ns - history.front().at_ns) / model::kMs;
  };
  const auto from_ms = ms_of(std::ranges::min(events, {}, ms_of)) - kSliceBefore_ms;
  const auto to_ms = ms_of(std::ranges::max(events, {}, ms_of));
  const auto with_faults = [&](const Places& places) {
    return slice_of(plan, places, [&](const sim::FaultPlan& fault) {
      return fault.at_ms <= to_ms && fault.at_ms + fault.for_ms >= from_ms &&
             hit_one_of(places, fault, history);
    });
  };
  std::vector<sim::Plan> slices;
  for (auto slice : {slice_of(plan, its, [](const auto&) { return false; }), with_faults(its),
                     with_faults(of_all), with_faults(all)}) {
    const bool known = std::ranges::find(slices, slice) != slices.end();
    if (slice == plan || known || !unsound(slice).empty()) continue;
    slices.push_back(std::move(slice));
  }
  return slices;
}

std::string repeat_command(const VerifyOptions& options, int number) {
  const VerifyOptions usual;
  std::string command = "leasehold-lab verify";
  const auto say = [&](const std::string& option, const std::string& value, bool needed = true) {
    if (needed) command += " --" + option + " " + value;
  };
  const bool drawn = !options.plan;
  if (!drawn) say("plan", quoted(options.plan_file));
  say("seed", std::to_string(options.seed), drawn);
  say("case", std::to_string(number));
  say("seconds", std::to_string(options.seconds), drawn);
  if (options.processes) say("processes", std::to_string(*options.processes), drawn);
  if (options.locks) say("locks", std::to_string(*options.locks), drawn);
  say("lock", options.lock, drawn && options.lock != usual.lock);
  say("waiting", options.waiting, drawn && !options.waiting.empty());
  if (options.foreign) {
    say("worker", quoted(options.foreign->command));
    say("promises", quoted(options.promises_file));
  }
  if (!drawn && !options.foreign) say("lock", options.plan->lock);
  say("faults",
      options.faults.empty() ? "none" : fmt::format("{}", fmt::join(options.faults, ",")),
      drawn && options.faults.size() != sim::fault_groups().size());
  if (options.set.script) say("store", quoted(options.set.script->program()));
  say("uri", quoted(mongo::without_password(options.set.uri)), !options.set.uri.empty());
  say("floors", std::to_string(options.floor_percent),
      options.floor_percent != usual.floor_percent);
  return command;
}

VerifyReport verify(const VerifyOptions& options, const OnProgress& on_progress,
                    const std::function<bool()>& stop) {
  return Run(options, on_progress, stop).go();
}

}  // namespace leasehold::properties
