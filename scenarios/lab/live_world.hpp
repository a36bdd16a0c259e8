#pragma once

#include <memory>

#include "sim/live/harness.hpp"

namespace leasehold::lab {

/// One replica set with faults, started with the first run, for any number of runs, each in a
/// database of its own.
class LiveWorld {
 public:
  /// Throws NoMongod.
  [[nodiscard]] model::History run(const sim::Plan& plan);

 private:
  std::unique_ptr<sim::live::ReplicaSet> servers_;
  sim::live::Janitor janitor_;
  int runs_ = 0;
};

}  // namespace leasehold::lab
