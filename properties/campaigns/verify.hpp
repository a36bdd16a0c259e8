#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "properties/campaigns/campaign.hpp"
#include "properties/generation/plan_generator.hpp"
#include "sim/live/run/live_world.hpp"

namespace leasehold::properties {

/// What was seen too seldom.
struct Shortfall {
  std::string what;  ///< the name of a guarantee, or of an event
  std::int64_t seen = 0, floor = 0;
  friend bool operator==(const Shortfall&, const Shortfall&) = default;
};

/// The property run: draws, runs and checks plan after plan, until the time is over and enough was
/// seen. "Every guarantee holds in every generated run."
struct VerifyOptions {
  std::uint64_t seed = 0;
  int seconds = 120;  ///< at least; three times as long if too little is seen
  std::optional<int> processes;
  std::optional<int> locks;
  std::string lock = "leasehold";
  std::string waiting;  ///< the strategies to draw from, as it was asked for; empty: as usual
  std::vector<sim::Waiting> waitings = drawn_waitings();
  std::set<std::string> faults;   ///< groups of them that are injected
  std::optional<int> only_case;   ///< repeat just this one
  std::optional<sim::Plan> plan;  ///< run this one instead of generated ones ...
  std::string plan_file;          ///< ... which stands here ...
  int times = 1;                  ///< ... this many times
  /// Nobody chose that plan: it need not show each kind of its faults, and its excuses have the
  /// usual limits.
  bool drawn = false;
  std::function<void(pid_t)> on_start;  ///< is called for each worker's process
  /// A worker of the user's lock, instead of ours, and the file of what it promises.
  std::optional<sim::live::ForeignLock> foreign;
  std::string promises_file;
  sim::live::TheirSet set;                     ///< where they run, if it is not a set of our own
  bool until_violated = false;                 ///< ends at once with the first violated case
  int floor_percent = 100;                     ///< of the floors that the seconds ask for
  std::string keep_folder = "leasehold-runs";  ///< where failing runs are kept
};

/// One run of a plan among those of a property run.
struct VerifyCase {
  int number = 0;
  sim::Plan plan;
  bool settles = true;  ///< it waits until dead holders' documents are gone
};

/// The cases of the options. A slow TTL monitor is waited for once, at the end, and only if the
/// seconds are enough.
[[nodiscard]] std::vector<VerifyCase> cases_of(const VerifyOptions& options);

/// The hash of the cases' plans; of one case, that of its plan.
[[nodiscard]] inline std::string hash_of(const std::vector<VerifyCase>& cases) {
  std::vector<sim::Plan> plans;
  for (const auto& one : cases) plans.push_back(one.plan);
  return sim::hash_of(plans);
}

/// The command that repeats a case, with every option that shaped it.
[[nodiscard]] std::string repeat_command(const VerifyOptions& options, int number);

/// The least number of checks per guarantee that the options ask for, never 0.
[[nodiscard]] model::Floors floors_for(const VerifyOptions& options);

/// What a soak measures. Memory that is resident and not anonymous is pages of the program's files,
/// read when their code first runs: it is bounded, and no leak.
enum Measure { kResident_kib, kAnonymous_kib, kDescriptors };
inline constexpr std::array kMeasures{"resident_kib", "anonymous_kib", "descriptors"};

/// One process with all that it started, or the mean of several, from /proc.
struct MemorySample {
  double at_s = 0;
  std::array<double, kMeasures.size()> values = {};
};

/// The course of a value, as the mean of the measured processes, from a quarter of the run on,
/// because pools and caches fill until then.
struct Trend {
  double mean = 0;
  double growth = 0;  ///< of the fitted line, from the first point to the last
  double error = 0;   ///< the standard error of `growth`, by how the points lie about the line

  /// Whether it grew by more than `most`, and by more than twice its error, so not by chance.
  [[nodiscard]] bool grew(double most) const { return growth > most && growth > 2 * error; }
};
/// Least squares over (x, y), with x rising. No growth for fewer than two points, no error for
/// fewer than three.
[[nodiscard]] Trend trend(const std::vector<double>& x, const std::vector<double>& y);

/// How the processes grew that lived from the first quarter's end to the end.
struct Growth {
  int measured = 0;  ///< of them
  std::array<Trend, kMeasures.size()> trends = {};
  std::vector<MemorySample> course;  ///< their mean, minute by minute, from the start on
};

/// What a property run found.
struct VerifyReport : Sums, CampaignAnswer {
  VerifyOptions options;
  double elapsed_s = 0;
  int cases = 0;
  bool interrupted = false;
  int failed = 0;     ///< cases that did not hold
  std::optional<double> violated_after_s;  ///< when the first violation was certain
  int processes = 0;  ///< in the largest case, like the locks
  int locks = 0;
  std::vector<std::string> kept;         ///< folders of the cases that failed
  std::string repeat;                    ///< the command that repeats the first of them
  std::string repeat_hash;               ///< of that one's plan
  std::string plans_hash;                ///< of the plans that ran in the seconds
  std::vector<Shortfall> went_on_for;    ///< what was seen too seldom in them ...
  double went_on_after_s = 0;            ///< ... when they were over
  std::vector<std::string> left_behind;  ///< on a user's set, and why
  std::string reduced;                   ///< the result of its minimisation
  std::optional<double> minimising_s;    ///< for how long it has been minimised by now
  Stalls stalls;
  std::string harness_failure;           ///< what died, with last words; empty: nothing
  sim::live::Traffic proxied;            ///< through the proxies before a user's members
  std::set<std::string> past_proxies;    ///< processes that were connected to them otherwise
  model::History shown;                  ///< the first case that failed, else the last
  std::optional<Growth> growth;          ///< of a soak
  [[nodiscard]] std::optional<model::Promises> promises() const {
    return options.foreign ? std::optional(options.foreign->promises) : std::nullopt;
  }
};

/// Gets the totals so far with the case's own added.
using OnProgress = std::function<void(const VerifyReport&, const sim::live::Progress&)>;

/// `stop` ends the run early.
[[nodiscard]] VerifyReport verify(const VerifyOptions& options, const OnProgress& on_progress,
                                  const std::function<bool()>& stop);

/// Limits of all plans of the lock that is checked.
[[nodiscard]] PlanLimits limits_of(const VerifyOptions& options);

/// The plan of one long run of many processes, whether the guarantees hold and whether the
/// processes grow. The options have a number of processes and of locks. Kills and pauses hit odd
/// processes alone, and fewer of them; leases and holdings are longer than in a short run, so that
/// the machine has time for an hour of it. The even ones are never killed, and are measured.
[[nodiscard]] sim::Plan soak_plan(const VerifyOptions& options);
/// Runs that plan for the options' seconds. The growth is among its findings.
[[nodiscard]] VerifyReport soak(VerifyOptions options, const OnProgress& on_progress,
                                const std::function<bool()>& stop);
/// Violated: anonymous memory or descriptors grew. Unknown: the run was too short, or no process
/// was measured. The memory of a user's worker may be that of a language that collects garbage.
[[nodiscard]] model::Finding growth_finding(const Growth& growth, double elapsed_s, bool foreign);

// What a property run has to see before its verdict can be *holds*, and how long it may go on for
// that, by pure functions of the options and of what was found so far.

constexpr std::int64_t kOwnTtlPeriod_ms = 1'000;
/// A run goes on for what it saw too seldom, for at most this many times its seconds, or this many
/// times as many runs of the chosen plan as were asked for.
constexpr int kMostTimesAsked = 5;

struct Times {
  int cases = 1;
  double case_s = 0;
  bool settles = false;  ///< the last one waits for a slow TTL monitor
};

/// The times of generated plans. A wait at the end makes fewer plans, but no others.
[[nodiscard]] Times times_of(const VerifyOptions& options);

/// The least number of seconds in which G8 can be shown.
[[nodiscard]] std::int64_t seconds_for_g8(const VerifyOptions& options);

/// The plan's kinds of faults that can have an effect there, on a worker's lock or ours.
[[nodiscard]] std::set<std::string> kinds_that_hit(const sim::Plan& plan,
                                                   const sim::live::TheirSet& set, bool foreign);

/// The least number of each kind of event or fault that makes a run interesting; numbers below one
/// are left out. For a chosen plan: each kind of its faults has an effect.
[[nodiscard]] Totals activity_floors(const VerifyOptions& options);

/// The percentage of a guarantee's checks that may be excused by something else than a pause of its
/// process, by world. properties/README.md has the measured figures: the limits are about twice as
/// large, and at most 90.
struct ExcuseLimit {
  model::Check check;
  int simulated, live;
};
inline constexpr ExcuseLimit kExcuseLimits[]{
    // Live limits are about twice what runs at load 15 show, because such a load is usual.
    // Most leases end unreleased because their processes were stopped, which is not limited.
    {model::Check::G5, 1, 5},
    // A few of thousands of waits fall into a fault, or into a moment in which servers are slow.
    {model::Check::G7, 1, 6}, {model::Check::calls, 1, 3},
    // A document that waits for the TTL monitor meets the faults that stop it.
    {model::Check::G8, 27, 90},
    // Few acquires send a second command, whatever is slow.
    {model::Check::G9, 1, 5}, {model::Check::G6, 1, 5}, {model::Check::release, 1, 5},
    {model::Check::needless, 1, 5}, {model::Check::refinement, 1, 5},
    {model::Check::grounded, 1, 5}};

/// What is asked of the findings of all runs.
struct Demands {
  model::Floors floors = {};  ///< 1 for what is not in them
  bool live = false;
  /// Its plans have their faults on purpose: half of a guarantee's checks may be excused.
  bool chosen = false;
};
/// Completes the findings: each with its floor, and unknown if it was checked too seldom, or if
/// too many of its checks were excused. Few excuses show nothing.
void conclude(std::vector<model::Finding>& findings, const Demands& demands);

/// Whether that made it unknown because it was checked too seldom.
[[nodiscard]] inline bool below_floor(const model::Finding& finding) {
  return finding.never_tested() || finding.is_open(model::Open::too_seldom);
}

/// What, besides its findings, keeps a run from an answer.
struct Hindrances {
  std::string harness_failure = {};
  bool nobody_ready = false;
  bool interrupted = false;
  bool stood_still = false;     ///< the machine, for more than half of the time
  std::string too_seldom = {};  ///< events: "acquisitions 532 of 600"
  std::string see_more = {};    ///< "run with more seconds, as --seconds 360"; empty: nothing helps
};
/// The verdict of concluded findings: what is hindered does not hold. With it what to do about one
/// that is no answer, one clause for each cause.
[[nodiscard]] CampaignAnswer answer(const std::vector<model::Finding>& findings,
                                    const Hindrances& hindrances);

/// Whether it is against the lock: violated, or unknown by more than a stall.
[[nodiscard]] inline bool is_against(const model::Finding& finding) {
  const bool open = finding.verdict == model::Verdict::holds || finding.only_stalled();
  return !open && !finding.never_tested();
}
/// Whether the set's TTL monitor passes so seldom that a run has to wait for it.
[[nodiscard]] inline bool has_slow_ttl(const VerifyOptions& options) {
  return options.set.ttl_period_ms > kOwnTtlPeriod_ms;
}

/// The guarantee's shortfall, if only too few checks, or a stall, keep it from *holds*.
[[nodiscard]] std::optional<Shortfall> shortfall(const model::Finding& finding,
                                                 const model::Floors& floors);
/// Shortfalls of events.
[[nodiscard]] std::vector<Shortfall> idle(const VerifyReport& so_far);
/// Shortfalls of guarantees and of events.
[[nodiscard]] std::vector<Shortfall> shortfalls(const VerifyReport& so_far);
/// "acquisitions 532 of 600, G1 3 of 5".
[[nodiscard]] std::string to_string(const std::vector<Shortfall>& all);

/// Whether one more case can show what these cases, after their seconds, saw too seldom. It cannot
/// help a verdict that is decided, nor a chosen case. `report.elapsed_s` is the present time.
[[nodiscard]] bool goes_on(const VerifyReport& so_far);
/// Whether that case must wait, and has the time, until dead holders' documents are gone.
[[nodiscard]] bool settles_at_last(const VerifyReport& so_far);

/// The parts of the plan that took part in the first violation of this check, by the events of its
/// finding. All plans have one lock, and less time; the smaller come first:
///
/// - its processes, and no fault;
/// - the same, with the faults that took effect shortly before it or during it, but for those that
///   hit other processes;
/// - the same with the processes of all findings that are violated;
/// - all processes, and all faults that took effect then.
///
/// No two are equal, and none is the plan. None, if the plan is scripted or the events name no
/// process of it. The plan need not be deterministic: a slice may fail or not, as it runs.
[[nodiscard]] std::vector<sim::Plan> slices(const sim::Plan& plan, const model::History& history,
                                            const std::vector<model::Finding>& findings,
                                            model::Check check);

}  // namespace leasehold::properties
