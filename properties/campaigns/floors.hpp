#pragma once

#include <set>
#include <string>
#include <vector>

#include "properties/campaigns/verify.hpp"

/// What a property run has to see before its verdict can be *holds*, and how long it may go on for
/// that. Pure functions of the options and of what was found so far.
namespace leasehold::properties {

constexpr std::int64_t kOwnTtlPeriod_ms = 1'000;
/// A run goes on for what it saw too seldom, for at most this many times its seconds, or this many
/// times as many runs of the chosen plan as were asked for.
constexpr int kMostTimesAsked = 3;

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
[[nodiscard]] const std::vector<ExcuseLimit>& excuse_limits();

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
[[nodiscard]] bool below_floor(const model::Finding& finding);

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

}  // namespace leasehold::properties
