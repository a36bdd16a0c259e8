#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "properties/judged.hpp"
#include "sim/live/harness.hpp"

namespace leasehold::properties {

/// The property run: RapidCheck draws plan after plan, each is run live and judged, until the time
/// is over. "Every guarantee holds in every drawn run."
struct VerifyOptions {
  std::uint64_t seed = 0;
  int seconds = 120;
  std::optional<int> processes;
  std::optional<int> locks;
  std::string lock = "leasehold";
  std::set<std::string> faults;                ///< groups of them that are injected
  std::optional<int> only_case;                ///< repeat just this one
  std::optional<sim::Plan> plan;               ///< run this one instead of drawn ones ...
  int times = 1;                               ///< ... so often
  std::string uri;                             ///< empty: a replica set of our own
  int floor_percent = 100;                     ///< of the floors that the seconds ask for
  std::string keep_folder = "leasehold-runs";  ///< where failing runs are kept
  bool keep_all = false;
};

/// What a property run found.
struct VerifyReport {
  VerifyOptions options;
  double elapsed_s = 0;
  int cases = 0;
  bool interrupted = false;
  int failed = 0;     ///< cases that did not hold
  int processes = 0;  ///< in the largest case, like the locks
  int locks = 0;
  std::map<std::string, std::int64_t> totals;  ///< acquisitions, takeovers, extensions, ...
  std::map<std::string, std::int64_t> faults;
  std::vector<model::Finding> findings;  ///< one a guarantee, over all cases
  sim::ArrowCounts arrows;               ///< of the diagrams, how often each was taken
  std::vector<std::string> kept;         ///< folders of the cases that failed
  std::string repeat;                    ///< the command that repeats the first of them
  std::string reduced;                   ///< what came of making it small in the virtual world
  model::History shown;                  ///< the first case that failed, else the last
  [[nodiscard]] model::Verdict verdict() const;
};

/// `on_progress` is told the totals so far with the case's own added; `stop` ends the run early.
[[nodiscard]] VerifyReport verify(
    const VerifyOptions& options,
    const std::function<void(const VerifyReport&, const sim::live::Progress&)>& on_progress,
    const std::function<bool()>& stop);

}  // namespace leasehold::properties
