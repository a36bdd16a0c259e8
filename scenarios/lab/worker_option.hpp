#pragma once

#include <optional>
#include <string>

#include "scenarios/lab/lab.hpp"
#include "sim/live/harness.hpp"

namespace leasehold::lab {

/// `--worker COMMAND --promises FILE`: the lock of somebody else that is checked instead.
struct WorkerOption {
  std::string command, promises_file;

  void add_to(po::options_description& options);

  /// Nothing if it was not given. What a lock promises is never guessed: without a file nobody can
  /// be blamed for anything. Throws UsageError.
  [[nodiscard]] std::optional<sim::live::ForeignLock> lock(const po::variables_map& given) const;
};

/// Throws UsageError.
[[nodiscard]] model::Promises read_promises(const std::string& file);

}  // namespace leasehold::lab
