#pragma once

#include <set>
#include <string>
#include <vector>

#include "properties/verify.hpp"

/// What a property run has to see before its verdict can be *holds*, and for how long it is worth
/// while to go on for it. Pure functions of what was asked for and what was found so far.
namespace leasehold::properties {

constexpr std::int64_t kOwnTtlPeriod_ms = 1'000;
/// A run goes on for what it saw too seldom until so many times its seconds are over, or the chosen
/// plan has run so many times as often as was asked.
constexpr int kMostTimesAsked = 3;

/// What a worker's documents show. Its floor ends at a minute's, so that a longer run reaches it.
constexpr model::GuaranteeSet kByDocuments{model::Guarantee::G1, model::Guarantee::G6,
                                           model::Guarantee::G8};

struct Times {
  int cases = 1;
  double case_s = 0;
  bool settles = false;  ///< the last one waits for a slow TTL monitor
};

/// Of generated plans. What is waited for at the end makes fewer of them, and no others.
[[nodiscard]] Times times_of(const VerifyOptions& options);

/// From how many seconds on G8 can be shown.
[[nodiscard]] std::int64_t seconds_for_g8(const VerifyOptions& options);

/// The kinds of the plan's faults that can take effect with such power, on a worker's lock or ours.
[[nodiscard]] std::set<std::string> kinds_that_hit(const sim::Plan& plan, sim::Power power,
                                                   bool foreign);

/// The least of what makes a run interesting, by kind of event or fault; what is less than one is
/// not asked for. Of a chosen plan: that each kind of its faults takes effect.
[[nodiscard]] Totals activity_floors(const VerifyOptions& options);

/// Of the checks of a guarantee at most so many percent may be excused, by world. What was measured
/// stands in properties/README.md: the limits are far above it.
struct ExcuseLimit {
  model::Guarantee guarantee;
  int simulated, live;
};
[[nodiscard]] const std::vector<ExcuseLimit>& excuse_limits();

/// Makes unknown what holds although more of its checks were excused. Few of them say nothing.
void limit_excuses(std::vector<model::Finding>& findings, bool live);

/// The guarantee's, if all that keeps it from holding is that it was checked too seldom.
[[nodiscard]] std::optional<Shortfall> shortfall(const model::Finding& finding,
                                                 const model::Floors& floors);
/// Of the events.
[[nodiscard]] std::vector<Shortfall> idle(const VerifyReport& so_far);
/// Of both.
[[nodiscard]] std::vector<Shortfall> shortfalls(const VerifyReport& so_far);
/// "acquisitions 532 of 600, G1 3 of 5".
[[nodiscard]] std::string to_string(const std::vector<Shortfall>& all);

/// Whether one more case can show what these so far, after their seconds, saw too seldom. It cannot
/// help a verdict that is decided, nor a chosen case. `report.elapsed_s` says when it is.
[[nodiscard]] bool goes_on(const VerifyReport& so_far);
/// Whether that case has to wait, and has the time, until dead holders' documents are gone.
[[nodiscard]] bool settles_at_last(const VerifyReport& so_far);

}  // namespace leasehold::properties
