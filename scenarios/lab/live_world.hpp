#pragma once

#include <memory>

#include "sim/live/harness.hpp"

namespace leasehold::lab {

/// A replica set with faults for any number of runs, each in a database of its own. Started with
/// the first run, and anew for one that it does not suit.
class LiveWorld {
 public:
  /// Throws NoMongod; std::runtime_error if a process died that nobody had killed.
  [[nodiscard]] model::History run(const sim::Plan& plan);

 private:
  void start_servers_for(const sim::Plan& plan);

  std::unique_ptr<sim::live::ReplicaSet> servers_;
  int election_timeout_ms_ = 0;
  bool clocks_moved_ = false;
  sim::live::Janitor janitor_;
  int runs_ = 0;
};

}  // namespace leasehold::lab
