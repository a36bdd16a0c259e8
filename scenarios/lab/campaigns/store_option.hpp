#pragma once

#include <optional>
#include <string>

#include "scenarios/lab/campaigns/own_set.hpp"
#include "scenarios/lab/campaigns/worker_option.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {

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
