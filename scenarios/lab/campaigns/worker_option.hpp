#pragma once

#include <optional>
#include <string>

#include "scenarios/lab/lab.hpp"
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

}  // namespace leasehold::lab
