#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "properties/campaigns/judgement.hpp"
#include "properties/generation/plan_generator.hpp"
#include "sim/live/own_set/run_site.hpp"

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
[[nodiscard]] std::string hash_of(const std::vector<VerifyCase>& cases);

/// The command that repeats a case, with every option that shaped it.
[[nodiscard]] std::string repeat_command(const VerifyOptions& options, int number);

/// The least number of checks per guarantee that the options ask for, never 0.
[[nodiscard]] model::Floors floors_for(const VerifyOptions& options);

/// How long `verify` may take, with all that follows a violation.
[[nodiscard]] std::chrono::seconds longest_run(const VerifyOptions& options);

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
  [[nodiscard]] std::optional<model::Promises> promises() const {
    return options.foreign ? std::optional(options.foreign->promises) : std::nullopt;
  }
};

/// Gets the totals so far with the case's own added.
using OnProgress = std::function<void(const VerifyReport&, const sim::live::Progress&)>;

/// `stop` ends the run early.
[[nodiscard]] VerifyReport verify(const VerifyOptions& options, const OnProgress& on_progress,
                                  const std::function<bool()>& stop);

}  // namespace leasehold::properties
