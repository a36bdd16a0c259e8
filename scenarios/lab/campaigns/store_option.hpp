#pragma once

#include <optional>
#include <string>

#include "properties/campaigns/verify.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {

/// `--store NAME`: another lock service than MongoDB, on which the lock of a worker stands.
struct StoreOption {
  std::string store;

  void add_to(po::options_description& options);

  /// Takes the store into what was asked for, if one was given, and reports on standard error which
  /// kinds of faults are left out. `groups` is what `--faults` says. Throws UsageError, also for a
  /// fault that is asked for by name and that this store's servers cannot have, or NoServers if it
  /// cannot run here.
  void take(const po::variables_map& given, const std::string& groups,
            properties::VerifyOptions& asked) const;
};

}  // namespace leasehold::lab
