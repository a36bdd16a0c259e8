#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "sim/live/harness.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::live {

/// A replica set with faults for any number of runs, each in a database of its own. Started with
/// the first run, and anew for one that it does not suit.
class LiveWorld final : public World {
 public:
  /// With a lock that is not ours it runs that one, whichever the plan names.
  explicit LiveWorld(std::optional<ForeignLock> foreign = {}) : foreign_(std::move(foreign)) {}

  [[nodiscard]] RunResult run(const Plan& plan) override;
  [[nodiscard]] bool is_live() const override { return true; }

 private:
  void start_servers_for(const Plan& plan);

  const std::optional<ForeignLock> foreign_;
  std::unique_ptr<ReplicaSet> servers_;
  int election_timeout_ms_ = 0;
  bool clocks_moved_ = false;
  Janitor janitor_;
  int runs_ = 0;
};

}  // namespace leasehold::sim::live
