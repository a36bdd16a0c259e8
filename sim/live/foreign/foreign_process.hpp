#pragma once

#include <atomic>
#include <chrono>
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

#include "model/history/history.hpp"
#include "model/workers/promises.hpp"
#include "sim/live/foreign/worker_protocol.hpp"
#include "sim/live/run/resource.hpp"
#include "sim/live/servers/member_clock.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/plan/workload.hpp"

namespace leasehold::sim::live {

/// The start settings of a worker around a lock that is not ours.
struct ForeignSetting {
  std::string command;  ///< for sh
  StartOrder order;
  Workload::Setting workload;
  std::uint64_t seed = 0;
  model::Promises promises;
  std::string folder;                ///< a janitor's, for its standard error and its clock
  std::vector<StepPlan> steps = {};  ///< of a scripted worker ...
  std::int64_t began_ns = 0;         ///< ... which count from then
  /// Called with its process before that knows the URI.
  std::function<void(pid_t)> on_start = {};
  /// For one caller; called from its thread.
  std::function<std::shared_ptr<FencedResource>()> resource = {};
  /// How far apart faults put the members' clocks at most; 0: unknown.
  std::int64_t clock_margin_ms = 0;
};

/// The operating-system process of such a worker, and the lines that are exchanged with it. It
/// decides when a question is answered, and what is wrong with the process. Its callers decide what
/// is asked.
///
/// A line that breaks the protocol, a death that no fault caused and a hang are `protocol` events
/// and end the process. They are no violation if it never was ready. Answers are stamped with their
/// arrival.
///
/// INVARIANT: `ended_ns_` never rises, and no event of the process stands after it.
///
/// Thread safety: callers ask from any thread; one thread attends, kills, stops and heals.
class ForeignProcess {
 public:
  using Now = std::function<std::int64_t()>;
  using Emit = std::function<void(model::Event)>;
  struct Heard {
    Answer answer;
    std::int64_t received_ns = 0;
    std::int64_t asked_ns = 0;
  };

  /// Starts it. REQUIRES: the setting outlives it.
  ForeignProcess(const ForeignSetting& setting, Now now_ns, Emit emit);

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] bool running();  ///< it said that it is ready, and neither ended nor stopped
  [[nodiscard]] bool over();     ///< it ended, or was ended; it says nothing more
  /// To be called often, because the process may have to be ended.
  void attend();
  /// Kills it and what it started. Returns when, if it was alive until then.
  std::optional<std::int64_t> kill();
  void pause();
  bool resume();  ///< returns whether it was stopped
  void set_wall_clock(std::int64_t offset_ms);
  /// Whether it read its wall clock since, and was shown another time than the true one.
  [[nodiscard]] bool saw_its_wall_clock() const;
  void heal();

  // For its callers:
  [[nodiscard]] bool await_ready();
  [[nodiscard]] bool works();  ///< it is ready, and not asked to stop, nor broken off
  [[nodiscard]] bool healed();
  /// The answer; nothing: there will be none.
  std::optional<Heard> question(Dialogue::Question kind, std::int64_t id, const std::string& line,
                                std::int64_t limit_ms);
  /// Returns whether the time passed; else it broke off before. `until_healed`: at most until then.
  bool rest(std::chrono::nanoseconds time, bool until_healed);
  /// One caller has nothing to do any more. When the last one ends, the worker is stopped.
  void caller_ended();
  /// An event stamped with the present time.
  [[nodiscard]] model::Event event(model::Kind kind, std::int64_t session = 0,
                                   const std::string& lock = "") const;
  /// The present time, or the time of its end, if it has ended.
  [[nodiscard]] std::int64_t stamp() const;
  [[nodiscard]] std::int64_t now() const { return now_(); }
  void emit(model::Event&& event) const { emit_(std::move(event)); }

 private:
  enum class Phase { starting, works, broken, stopping, over };

  void read_answers(const std::stop_token& stop);
  void hear(const std::string& line);
  void note_loss(const Heard& heard);
  void see_off(std::unique_lock<std::mutex>& guard, bool may_end);
  void break_off(const std::string& outcome, const std::string& why);
  [[nodiscard]] std::string without_end() const;

  const ForeignSetting& setting_;
  const Now now_;
  const Emit emit_;
  MemberClock clock_;
  std::uint64_t shown_before_ = 0;  ///< as of the last move
  ChildProcess child_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  bool stopped_ = false;  ///< by SIGSTOP
  bool healed_ = false;
  bool output_ended_ = false;
  bool ready_ = false;
  std::string unfinished_;  ///< what it said after its last line, shortened
  int at_work_;  ///< callers
  std::int64_t stopping_since_ns_ = 0;
  /// Killed or broken off.
  std::atomic<std::int64_t> ended_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t said_after_ns_ = 0;  ///< what it says now came after this question
  Dialogue dialogue_;
  std::map<std::int64_t, std::int64_t> asked_ns_;  ///< the last question of each id
  std::map<std::int64_t, Heard> heard_;            ///< by the id of the question

  std::jthread reader_;
};

}  // namespace leasehold::sim::live
