#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/history/history.hpp"
#include "sim/live/processes/run_processes.hpp"
#include "sim/live/processes/worker.hpp"
#include "sim/live/run/harness.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {

[[nodiscard]] std::string doomed_name(int number);

/// The end of a text file, from a sanitizer's report on if there is one.
[[nodiscard]] std::string last_words(const std::string& file);
/// Says in the event how a process that had started ended. `status` is waitpid(2)'s; `words_file`
/// has its last words.
void tell_ending(model::Event& e, int status, const std::string& words_file);
/// The event of a member that no fault killed.
[[nodiscard]] model::Event exit_of_member(std::int64_t at_ns, int member, int status,
                                          const std::string& log_file);

/// The processes of a live run: starts them, reads what they say into the history, and does to them
/// what faults ask for. A process that ends unasked is an `exit` event.
class LiveProcesses final : public RunProcesses {
 public:
  using RunProcesses::RunProcesses;

  void start_all(std::int64_t began_ns, int doomed) override;
  void listen_ms(int limit_ms) override;
  int kill_doomed() override;
  void heal() override;
  [[nodiscard]] bool all_done() const override;
  void end_by_force() override;
  [[nodiscard]] bool somebody_died() const override { return somebody_died_; }

  std::vector<ProcessView> running() override;
  bool kill(const std::string& name) override;
  void start_successor(const std::string& name) override;
  void set_wall_clock(const std::string& name, std::int64_t offset_ms) override;
  void pause(const std::string& name, bool suspends) override;
  void resume(const std::string& name) override;

 private:
  /// A simulated process as the harness sees it.
  struct Actor {
    std::string name;
    ChildProcess child;
    LineReader lines = {};
    std::set<std::int64_t> holding;  ///< sessions granted and not over
    bool stopped = false;
    std::int64_t suspended_at = 0;  ///< while its machine is
    std::string errors;             ///< the file of its standard error
    std::string suspended_file;     ///< what its clock leaves out
    bool started = false;           ///< it said that it started
    bool killed = false;            ///< by us
    bool done = false;              ///< its output ended
    [[nodiscard]] bool is_doomed() const { return name.starts_with("grave"); }
  };

  Actor spawn(WorkerConfig order);
  WorkerConfig order_for(const std::string& name, const ProcessPlan& plan);
  void start(std::size_t i);
  void start_doomed(int i);
  bool listen(Actor& actor);
  void read_rest(Actor& actor);
  void hear(Actor& actor, model::Event e);
  void output_ended(Actor& actor);
  Actor* named(const std::string& name);
  bool crash(Actor& actor);
  void end_by_force(Actor& actor);

  std::vector<Actor> actors_;  ///< by their places in the plan
  std::vector<Actor> doomed_;
  bool healed_ = false;
  bool somebody_died_ = false;
};

}  // namespace leasehold::sim::live
