#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/history/history.hpp"
#include "sim/live/foreign/foreign_caller.hpp"
#include "sim/live/processes/run_processes.hpp"
#include "sim/live/run/harness.hpp"

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

/// The processes of a live run of a lock that is not ours: workers that speak the lines of
/// scenarios/WORKERS.md. A worker that breaks these rules is ended, and has no successor.
class ForeignProcesses final : public RunProcesses {
 public:
  /// REQUIRES: plan, run and store outlive it, and the run has a foreign lock.
  ForeignProcesses(const Plan& plan, const LiveRun& run, Store& store, Now now_ns, Emit emit)
      : RunProcesses(plan, run, std::move(now_ns), std::move(emit)), store_(store) {}

  void start_all(std::int64_t began_ns, int doomed) override;
  void listen_ms(int limit_ms) override;
  int kill_doomed() override { return 0; }
  void heal() override;
  [[nodiscard]] bool all_done() const override;
  void end_by_force() override;
  [[nodiscard]] bool somebody_died() const override { return false; }

  std::vector<ProcessView> running() override;
  bool kill(const std::string& name) override;
  void start_successor(const std::string& name) override;
  void set_wall_clock(const std::string& name, std::int64_t offset_ms) override;
  [[nodiscard]] bool saw_its_wall_clock(const std::string& name) override;
  void pause(const std::string& name, bool suspends) override;
  void resume(const std::string& name) override;

 private:
  void start(std::size_t i);
  void take(model::Event e);
  void hand_over();
  bool end(ForeignWorker& worker);
  [[nodiscard]] ForeignWorker* named(const std::string& name) const;

  Store& store_;
  std::mutex mutex_;
  std::vector<model::Event> taken_;  ///< from the workers' threads, protected by mutex_
  std::vector<std::unique_ptr<ForeignWorker>> workers_;  ///< by their places in the plan
  std::vector<std::unique_ptr<ForeignWorker>> killed_;   ///< replaced by another
};

}  // namespace leasehold::sim::live
