#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "model/history.hpp"
#include "model/promises.hpp"
#include "sim/held_answers.hpp"
#include "sim/live/child_process.hpp"
#include "sim/live/member_clock.hpp"
#include "sim/live/resource.hpp"
#include "sim/live/worker_protocol.hpp"
#include "sim/workload.hpp"

namespace leasehold::sim::live {

/// One process around a lock that is not ours, which speaks the lines of scenarios/WORKERS.md. A
/// thread reads what it answers; one for each caller runs the workload, and writes to the fenced
/// resource if the lock promises tokens. A line that breaks the protocol, a death that nobody asked
/// for and a hang are `protocol` events, and its end. Answers are stamped with their arrival.
/// Thread safety: one thread calls all of it; `emit` is called from any thread.
class ForeignWorker {
 public:
  struct Setting {
    std::string command;  ///< for sh
    StartOrder order;
    Workload::Setting workload;
    std::uint64_t seed = 0;
    model::Promises promises;
    std::string folder;  ///< of a janitor's, for its standard error and its clock
    std::vector<StepPlan> steps = {};  ///< of a scripted one ...
    std::int64_t began_ns = 0;         ///< ... which count from then
  };
  using Now = std::function<std::int64_t()>;
  using Emit = std::function<void(model::Event)>;

  ForeignWorker(Setting setting, Now now_ns, Emit emit);
  /// Kills the process.
  ~ForeignWorker();
  ForeignWorker(const ForeignWorker&) = delete;
  ForeignWorker& operator=(const ForeignWorker&) = delete;

  [[nodiscard]] const std::string& name() const { return setting_.order.process; }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] bool running();  ///< it said that it is ready, and has neither ended nor is stopped
  [[nodiscard]] bool holds();
  [[nodiscard]] bool over();  ///< it ended, or was ended; nothing of it comes any more
  /// Whoever waits for what it does: to be called often, for it may have to be ended.
  void attend();
  /// It and what it started; when, if it was alive until then. A write to the resource may still be
  /// on its way: `join` waits for it.
  std::optional<std::int64_t> kill();
  void join() { callers_.clear(); }
  void pause();
  bool resume();  ///< whether it was stopped
  void set_wall_clock(std::int64_t offset_ms);
  void heal();

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  enum class Phase { starting, works, broken, stopping, over };
  struct Heard {
    Answer answer;
    std::int64_t received_ns = 0;
    std::int64_t asked_ns = 0;
  };
  struct Caller {
    Random random;
    Workload workload;
    std::int64_t id = 0;
    std::string name = {};
    std::int64_t token = 0;
    bool knows_of_end = false;
    bool relies_on_lost = false;                         ///< during this holding it is not asked
    std::unique_ptr<FencedResource> resource = nullptr;  ///< if the lock has tokens
    std::unique_ptr<HeldAnswers> answers = nullptr;      ///< until it said no
  };

  void read_answers(const std::stop_token& stop);
  void hear(const std::string& line);
  void note_loss(const Heard& heard);
  void live(int number);
  void work(Caller& caller);
  void follow_script(Caller& caller, int number);
  bool hold_until(Caller& caller, std::int64_t end_ns);
  bool await_ready();
  std::optional<Heard> question(Dialogue::Question kind, std::int64_t id, const std::string& line,
                                std::int64_t limit_ms);
  void ask(Caller& caller);
  void write_fenced(Caller& caller);
  void flush(Caller& caller);
  bool rest(std::chrono::nanoseconds time, bool until_healed);
  void break_off(const std::string& outcome, const std::string& why);
  [[nodiscard]] std::int64_t stamp() const;
  void emit_granted(Caller& caller, const Heard& heard);
  void emit_ended(const Caller& caller, const Heard& heard);
  model::Event event(model::Kind kind, std::int64_t session = 0,
                     const std::string& lock = "") const;

  Workload::Event perform(Caller& caller, const Workload::Rest& rest);
  Workload::Event perform(Caller& caller, const Workload::Hold& hold);
  Workload::Event perform(Caller& caller, const Workload::Acquire& acquire);
  Workload::Event perform(Caller& caller, const Workload::Receive& receive);
  Workload::Event perform(Caller& caller, const Workload::Write& write);
  Workload::Event perform(Caller& caller, const Workload::Release& release);
  template <typename Other>
  Workload::Event perform(Caller&, const Other&) {
    return Workload::TimePassed{};  // of scripted and doomed callers
  }
  [[nodiscard]] bool works() const { return phase_ == Phase::works; }

  const Setting setting_;
  const Now now_;
  const Emit emit_;
  MemberClock clock_;
  ChildProcess child_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  bool stopped_ = false;  ///< by SIGSTOP
  bool healed_ = false;
  bool output_ended_ = false;
  std::int64_t stopping_since_ns_ = 0;
  std::atomic<std::int64_t> ended_ns_ = kNever;  ///< killed or broken off: nothing comes after it
  std::int64_t said_after_ns_ = 0;               ///< what it says now was said after this question
  int at_work_ = 0;                              ///< callers
  int holdings_ = 0;                             ///< granted and not released
  std::int64_t ids_ = 0;
  std::int64_t writes_ = 0;
  Dialogue dialogue_;
  std::map<std::int64_t, std::int64_t> asked_ns_;  ///< the last question of each id
  std::map<std::int64_t, Heard> heard_;            ///< by the id of the question
  bool ready_ = false;

  std::jthread reader_;
  std::vector<std::jthread> callers_;
};

}  // namespace leasehold::sim::live
