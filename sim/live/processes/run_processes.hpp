#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/run/harness.hpp"

namespace leasehold::sim::live {

/// The processes of a live run, as the harness drives them. One thread calls all of it.
class RunProcesses : public ProcessControl {
 public:
  using Now = std::function<std::int64_t()>;
  using Emit = std::function<void(model::Event)>;

  /// REQUIRES: plan and run outlive it.
  RunProcesses(const Plan& plan, const LiveRun& run, Now now_ns, Emit emit)
      : plan_(plan), run_(run), now_(std::move(now_ns)), emit_(std::move(emit)) {}

  /// Starts the plan's processes, with steps from `began_ns` on, and `doomed` more to be killed.
  virtual void start_all(std::int64_t began_ns, int doomed) = 0;
  /// Waits up to `limit_ms` for output of the processes, and takes what there is into the history.
  virtual void listen_ms(int limit_ms) = 0;
  /// Kills the doomed processes that hold their lock by now; returns how many.
  virtual int kill_doomed() = 0;
  /// Faults are over: they may end from now on.
  virtual void heal() = 0;
  /// Whether the plan's processes are done; the doomed have nothing to do.
  [[nodiscard]] virtual bool all_done() const = 0;
  virtual void end_by_force() = 0;  ///< kills those that did not end
  /// If true, the run says nothing of the lock.
  [[nodiscard]] virtual bool somebody_died() const = 0;

 protected:
  [[nodiscard]] model::Event event(model::Kind kind, const std::string& process) const {
    return {.at_ns = now_(), .kind = kind, .process = process};
  }
  /// The name of the process at this place of the plan, or of its successor.
  std::string next_name(std::size_t place) {
    return "p" + std::to_string(place) + "." + std::to_string(++lives_[place]);
  }
  std::uint64_t next_seed() { return plan_.seed * 1'000'003 + ++seeds_; }
  [[nodiscard]] std::vector<StepPlan> steps_of(std::size_t place) const {
    std::vector<StepPlan> steps;
    std::copy_if(plan_.steps.begin(), plan_.steps.end(), std::back_inserter(steps),
                 [&](const StepPlan& s) { return s.process == static_cast<std::int64_t>(place); });
    return steps;
  }

  const Plan& plan_;
  const LiveRun& run_;
  const Now now_;
  const Emit emit_;
  std::int64_t began_ns_ = 0;

 private:
  std::map<std::size_t, int> lives_;
  std::uint64_t seeds_ = 0;
};

}  // namespace leasehold::sim::live
