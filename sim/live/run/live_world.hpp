#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "sim/live/own_set/run_site.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::live {

/// A replica set with faults for any number of runs, each in a database of its own. A set of ours
/// is started with the first run, and again for a run that it does not suit.
class LiveWorld final : public World {
 public:
  struct Setting {
    std::optional<ForeignLock> foreign = {};  ///< this lock runs instead of the plan's
    TheirSet set = {};                        ///< where it runs, if not on a set of ours
    std::function<bool()> stop = {};          ///< true ends a run early; may be empty
  };
  LiveWorld() : LiveWorld(Setting{}) {}
  explicit LiveWorld(Setting setting) : setting_(std::move(setting)) {}

  [[nodiscard]] RunResult run(const Plan& plan) override;
  [[nodiscard]] bool is_live() const override { return true; }
  std::vector<std::string> leave() override;

  /// The common prefix of this process's databases.
  [[nodiscard]] static std::string databases();

 private:
  void start_servers_for(const Plan& plan);

  const Setting setting_;
  std::unique_ptr<RunSite> site_;
  int election_timeout_ms_ = 0;
  bool clocks_moved_ = false;
  Janitor janitor_;
  int runs_ = 0;
};

}  // namespace leasehold::sim::live
