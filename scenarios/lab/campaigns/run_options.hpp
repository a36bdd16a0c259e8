#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/lab/lab.hpp"
#include "sim/live/run/live_world.hpp"

namespace leasehold::lab {

/// Throws UsageError.
[[nodiscard]] model::Promises read_promises(const std::string& file);

/// A plan that is to run on the user's own replica set, or on another store.
struct WantedPlan {
  sim::Plan plan;
  /// Where the user chose it, as "--plan is 'x.scn'": nothing is left out of it. Empty: it was
  /// generated, without faults that the set does not allow.
  std::string chosen = {};
};

/// The runs that are wanted there.
struct WantedRuns {
  std::function<std::vector<WantedPlan>(const sim::live::TheirSet&)> plans;
  std::set<std::string> faults;  ///< groups that generated plans were to have
  std::string database;          ///< where rights are tried
  /// Where the user chose these groups, as "--faults is 'clock'": servers that are not ours must
  /// have some of each. Empty: what is not possible is left out.
  std::string faults_chosen = {};
};

/// The lock that is checked and its servers, if they are not ours: `--worker COMMAND --promises
/// FILE` is the user's lock; `--store NAME` is another lock service than MongoDB, on which it
/// stands; `--uri URI --keep` is the user's own replica set.
struct SiteOptions {
  std::string worker, promises_file, store, uri;
  bool keep = false;

  void add_to(po::options_description& options);

  /// The user's lock. Promises are never guessed: a lock without a file of promises can break none.
  /// Throws UsageError.
  [[nodiscard]] std::optional<sim::live::ForeignLock> lock(const po::variables_map& given) const;

  /// Whether the servers are not ours.
  [[nodiscard]] bool elsewhere() const { return !store.empty() || !uri.empty(); }

  /// What may be done to those servers; an empty set if they are ours. Asks whether they, the
  /// user's rights and chosen plans allow what is wanted, and reports on standard error which kinds
  /// of faults are left out. Removes promises from `foreign` that cannot be checked there. With a
  /// URI signals are only noted from then on (`interrupted`), so that nothing stays on the set.
  /// Throws UsageError with all that is missing, also for a fault that the user chose and that
  /// these servers cannot have, or NoServers if none answers or a store cannot run here.
  [[nodiscard]] sim::live::TheirSet prepare(const WantedRuns& runs,
                                            std::optional<sim::live::ForeignLock>& foreign) const;
};

}  // namespace leasehold::lab
