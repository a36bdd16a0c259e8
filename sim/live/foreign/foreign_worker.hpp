#pragma once

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/live/foreign/foreign_caller.hpp"

namespace leasehold::sim::live {

/// One process around a lock that is not ours, which speaks the lines of scenarios/WORKERS.md, with
/// a thread for each of its callers.
/// Thread safety: one thread calls all of it; `emit` is called from any thread.
class ForeignWorker {
 public:
  using Setting = ForeignSetting;
  using Now = ForeignProcess::Now;
  using Emit = ForeignProcess::Emit;

  ForeignWorker(Setting setting, Now now_ns, Emit emit);
  /// Kills the process.
  ~ForeignWorker();
  ForeignWorker(const ForeignWorker&) = delete;
  ForeignWorker& operator=(const ForeignWorker&) = delete;

  [[nodiscard]] const std::string& name() const { return setting_.order.process; }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] bool running() { return process_.running(); }
  [[nodiscard]] bool holds() const { return home_.holdings > 0; }
  [[nodiscard]] bool over() { return process_.over(); }
  /// A caller that waits for the worker calls it often, because the process may have to be ended.
  void attend() { process_.attend(); }
  /// Kills it and what it started. Returns when, if it was alive until then. A write to the
  /// resource may still be on its way: `join` waits for it.
  std::optional<std::int64_t> kill() { return process_.kill(); }
  void join() { callers_.clear(); }
  void pause() { process_.pause(); }
  bool resume() { return process_.resume(); }  ///< whether it was stopped
  void set_wall_clock(std::int64_t offset_ms) { process_.set_wall_clock(offset_ms); }
  [[nodiscard]] bool saw_its_wall_clock() const { return process_.saw_its_wall_clock(); }
  void heal() { process_.heal(); }

 private:
  const Setting setting_;
  ForeignProcess process_;
  ForeignCaller::Home home_{setting_, process_};
  std::vector<std::jthread> callers_;  ///< last: they end before what they use
};

}  // namespace leasehold::sim::live
