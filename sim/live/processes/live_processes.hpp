#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model/history/history.hpp"
#include "sim/faults/cluster_control.hpp"
#include "sim/live/processes/worker.hpp"
#include "sim/live/run/harness.hpp"

namespace leasehold::sim::live {

[[nodiscard]] std::string doomed_name(int number);

/// The end of a text file, from a sanitizer's report on if there is one.
[[nodiscard]] std::string last_words(const std::string& file);
/// Says in the event how a process that had started ended. `status` is waitpid(2)'s; `words_file`
/// has its last words.
void tell_ending(model::Event& e, int status, const std::string& words_file);
/// The `exit` events of members that ended since the last call and that no fault killed.
template <typename Members>
[[nodiscard]] model::History exits_of(Members& members) {
  model::History all;
  for (int i = 0; i < members.size(); ++i) {
    auto& member = members.at(i);
    if (!member.died()) continue;
    model::Event& e = all.emplace_back();
    e.at_ns = boot_ns();
    e.kind = model::Kind::exit;
    e.victim = member_name(i);
    tell_ending(e, member.exit_status(), member.log_file());
  }
  return all;
}

/// One process of a live run. It emits what it says, what is done to it, and its end. One thread
/// calls all of it.
class LiveProcess {
 public:
  using Emit = std::function<void(model::Event)>;

  explicit LiveProcess(std::string name) : name_(std::move(name)) {}
  virtual ~LiveProcess() = default;
  LiveProcess(const LiveProcess&) = delete;
  LiveProcess& operator=(const LiveProcess&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// It said that it is ready, and neither ended nor stopped.
  [[nodiscard]] virtual bool running() = 0;
  [[nodiscard]] virtual bool holds() = 0;  ///< a lock, by its own account
  [[nodiscard]] virtual bool over() = 0;   ///< it ended, or was ended; it says nothing more
  /// It ended in such a way that the run says nothing of the lock.
  [[nodiscard]] virtual bool failed() { return false; }

  /// Where it is to be heard; -1: something else listens.
  [[nodiscard]] virtual int out() { return -1; }
  /// To be called when there is something at `out`, or else often: it may have to be ended.
  virtual void attend() = 0;
  /// Faults are over: it may end from now on.
  virtual void heal() = 0;
  /// Kills it and what it started. Returns whether it was alive until then; it is certainly dead
  /// when the event is written.
  virtual bool kill() = 0;
  virtual void end_by_force() = 0;  ///< it did not end
  virtual void join() {}            ///< waits for what it may still do once it is dead

  virtual void pause(bool suspends) = 0;
  virtual void resume() = 0;  ///< if it was stopped
  virtual void set_wall_clock(std::int64_t offset_ms) = 0;
  [[nodiscard]] virtual bool saw_its_wall_clock() { return true; }

 private:
  const std::string name_;
};

/// The start settings of a worker around a lock that is not ours.
struct ForeignSetting {
  WorkerConfig order;  ///< with the margin of clocks that faults leave; 0: unknown
  ForeignLock lock;
  std::string folder;  ///< a janitor's, for its standard error and its clock
  Store& store;        ///< each caller has a resource of it
};
/// Starts one. `on_start` is called with its process before that knows the URI; `emit` is called
/// from any thread.
[[nodiscard]] std::unique_ptr<LiveProcess> start_foreign(
    ForeignSetting setting, const std::function<void(pid_t)>& on_start, LiveProcess::Emit emit);

/// The processes of a live run, as the harness drives them: starts them, takes what they say into
/// the history, and does to them what faults ask for. They are our own workers, or workers around a
/// lock that is not ours (live/foreign/foreign_process.cpp). One thread calls all of it.
class LiveProcesses final : public ProcessControl {
 public:
  using Emit = LiveProcess::Emit;

  /// REQUIRES: plan, run and store outlive it.
  LiveProcesses(const Plan& plan, const LiveRun& run, Store& store, Emit emit)
      : plan_(plan), run_(run), store_(store), emit_(std::move(emit)) {}

  /// Starts the plan's processes, with steps from `began_ns` on, and `doomed` more to be killed:
  /// each takes a lock that no other process wants, and dies with it, so that its document is for
  /// the TTL monitor. Workers that are not ours need not leave such documents: none is doomed.
  void start_all(std::int64_t began_ns, int doomed);
  /// Waits up to `limit_ms` for output of the processes, and takes what there is into the history.
  void listen_ms(int limit_ms);
  /// Kills the doomed processes that hold their lock by now; returns how many.
  int kill_doomed();
  /// Faults are over: they may end from now on.
  void heal();
  /// Whether the plan's processes are done; the doomed have nothing to do.
  [[nodiscard]] bool all_done() const;
  void end_by_force();  ///< kills those that did not end
  /// If true, the run says nothing of the lock.
  [[nodiscard]] bool somebody_died() const;

  std::vector<ProcessView> running() override;
  bool kill(const std::string& name) override;
  void start_successor(const std::string& name) override;
  void set_wall_clock(const std::string& name, std::int64_t offset_ms) override;
  [[nodiscard]] bool saw_its_wall_clock(const std::string& name) override;
  void pause(const std::string& name, bool suspends) override;
  void resume(const std::string& name) override;

 private:
  using Processes = std::vector<std::unique_ptr<LiveProcess>>;

  void start(std::size_t place);
  std::unique_ptr<LiveProcess> begin(const std::string& name, std::size_t place, bool doomed);
  [[nodiscard]] Processes::iterator find(const std::string& name);
  [[nodiscard]] LiveProcess* named(const std::string& name);
  void hand_over();

  const Plan& plan_;
  const LiveRun& run_;
  Store& store_;
  const Emit emit_;
  std::int64_t began_ns_ = 0;
  std::uint64_t seeds_ = 0;
  std::map<std::size_t, int> lives_;  ///< of each place in the plan
  std::mutex mutex_;
  std::vector<model::Event> taken_;  ///< from any thread, protected by mutex_
  Processes processes_;              ///< by their places in the plan
  Processes doomed_, replaced_;      ///< the latter by another
};

}  // namespace leasehold::sim::live
