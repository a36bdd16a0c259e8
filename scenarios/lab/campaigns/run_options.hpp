#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/lab/lab.hpp"
#include "sim/live/own_set/run_site.hpp"
#include "sim/live/run/harness.hpp"

namespace leasehold::lab {

/// `--worker COMMAND --promises FILE`: the user's lock, which is checked instead.
struct WorkerOption {
  std::string command, promises_file;

  void add_to(po::options_description& options);

  /// Nothing if it was not given. Promises are never guessed: a lock without a file of promises can
  /// break none. Throws UsageError.
  [[nodiscard]] std::optional<sim::live::ForeignLock> lock(const po::variables_map& given) const;
};

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

/// Throws UsageError for a fault or a group that the user chose, and that these servers, which
/// messages call `name`, cannot have.
void require_possible(const WantedRuns& runs, const sim::live::TheirSet& set,
                      const std::string& name);
/// On standard error, those of `kinds` that the groups have and these servers cannot have.
void say_what_is_left_out(const std::set<std::string>& groups, const sim::live::TheirSet& set,
                          const std::string& name, std::vector<sim::FaultPlan::Kind> kinds);

/// `--uri URI --keep`: the user's own replica set, instead of one of ours.
struct OwnSetOption {
  std::string uri;
  bool keep = false;

  void add_to(po::options_description& options);

  /// What may be done to that set; an empty one if none was given. Asks whether the set, the user's
  /// rights and chosen plans allow what is wanted, and reports on standard error which kinds of
  /// faults are left out. Removes promises from `foreign` that cannot be checked there. From then
  /// on signals are only noted (`interrupted`), so that nothing stays on the set. Throws UsageError
  /// with all that is missing, or NoMongod if no server answers.
  [[nodiscard]] sim::live::TheirSet prepare(const WantedRuns& runs,
                                            std::optional<sim::live::ForeignLock>& foreign) const;
};

/// `--store NAME`: another lock service than MongoDB, on which the lock of a worker stands. Or
/// `--uri`: the user's own replica set.
struct StoreOption {
  std::string store;
  OwnSetOption own_set;

  void add_to(po::options_description& options);
  /// Whether one of them was given.
  [[nodiscard]] bool given() const { return !store.empty() || !own_set.uri.empty(); }

  /// What may be done to the store, or as `OwnSetOption::prepare`. Reports on standard error which
  /// kinds of faults are left out. Throws UsageError, also for a fault that the user chose and that
  /// this store's servers cannot have, or NoServers if it cannot run here.
  [[nodiscard]] sim::live::TheirSet prepare(const WantedRuns& runs, const WorkerOption& worker,
                                            std::optional<sim::live::ForeignLock>& foreign) const;
};

}  // namespace leasehold::lab
