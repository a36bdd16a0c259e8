#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "sim/live/foreign/worker_protocol.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {

/// One process of a worker, and the lines of scenarios/WORKERS.md that are exchanged with it: it
/// decides when a question is answered, and what is wrong with what the process says or does not
/// say. What becomes of that is for its owner, which derives from it.
///
/// Thread safety: questions from any thread. Hooks are called from any thread, with the mutex held.
class Conversation {
 public:
  using Question = Dialogue::Question;
  struct Heard {
    Answer answer;
    std::int64_t received_ns = 0;
    std::int64_t asked_ns = 0;
  };
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  [[nodiscard]] bool await_ready() {
    constexpr milliseconds kLimit{60'000};  // a virtual machine or an interpreter starts
    std::unique_lock guard(mutex_);
    milliseconds waited{0};
    while (!ready_ && phase_ == Phase::starting) {
      changed_.wait_for(guard, kSlice);
      waited += stopped_ ? milliseconds(0) : kSlice;
      if (waited > kLimit) break_off("hang", "it was not ready within 60 s" + without_end());
    }
    if (phase_ == Phase::starting) phase_ = Phase::works;
    return phase_ == Phase::works;
  }

  /// It is ready, and not asked to stop, nor broken off.
  [[nodiscard]] bool works() {
    const std::lock_guard guard(mutex_);
    return phase_ == Phase::works;
  }

  /// The answer, within what it is given and what its worker promises; nothing: there will be none.
  std::optional<Heard> question(Question kind, std::int64_t id, const std::string& line,
                                std::int64_t limit_ms) {
    std::unique_lock guard(mutex_);
    if (phase_ != Phase::works) return std::nullopt;
    asked_ns_[id] = boot_ns();
    dialogue_.asked(kind, id, asked_ns_[id]);
    child_.say(line);
    const auto limit = milliseconds(limit_ms) + answers_within_;
    for (milliseconds waited{0}; phase_ == Phase::works;) {
      const auto answer = heard_.extract(id);
      if (!answer.empty()) return answer.mapped();
      const auto before = boot_ns();
      changed_.wait_for(guard, kSlice);
      const auto passed = std::min(milliseconds((boot_ns() - before) / 1'000'000 + 1), kSlice);
      if (!stopped_ && !output_ended_) waited += passed;
      if (waited > limit) {
        break_off("hang", "it did not answer within " + std::to_string(limit.count()) +
                              " ms of running: " + line.substr(0, line.size() - 1) +
                              without_end());
      }
    }
    return std::nullopt;
  }

 protected:
  using milliseconds = std::chrono::milliseconds;
  enum class Phase { starting, works, broken, stopping, over };
  /// A wait counts in slices: a time in which we did not run counts as one at most.
  static constexpr milliseconds kSlice{50};

  explicit Conversation(milliseconds answers_within) : answers_within_(answers_within) {}
  ~Conversation() = default;

  void start(ChildProcess child, const std::string& order) {
    child_ = std::move(child);
    dialogue_.started(boot_ns());
    child_.say(order);
    reader_ = std::jthread([this](const std::stop_token& stop) { read_answers(stop); });
  }
  /// Nothing is heard any more. REQUIRES: called before the owner's hooks are gone.
  void stop_reading() { reader_ = {}; }

  virtual void on_lost(const Answer&) {}
  /// Its standard output is at its end.
  virtual void on_end() { break_off("ended", "the worker ended"); }
  /// Once. `outcome`: "line", "hang" or "ended".
  virtual void on_broken(const std::string& outcome, const std::string& why) = 0;

  /// REQUIRES: the mutex is held. Only the first reason counts.
  void break_off(const std::string& outcome, const std::string& why) {
    if (phase_ == Phase::broken || phase_ == Phase::over) return;
    phase_ = Phase::broken;
    const bool says_all = ready_ || outcome == "hang";
    on_broken(outcome, says_all ? why : "it never said that it is ready: " + why);
    changed_.notify_all();
  }

  /// Output without an end of line: its worker may have forgotten it. REQUIRES: the mutex is held.
  [[nodiscard]] std::string without_end() const {
    return unfinished_.empty() ? "" : "; it said, without the end of a line: " + unfinished_;
  }

  ChildProcess child_;
  std::mutex mutex_;  // protects the rest
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  bool stopped_ = false;  ///< by SIGSTOP
  bool output_ended_ = false;
  bool ready_ = false;
  std::int64_t said_after_ns_ = 0;  ///< what it says now came after this question

 private:
  void read_answers(const std::stop_token& stop) {
    constexpr std::size_t kLongestLine = 1 << 16;
    constexpr std::size_t kMostShown = 200;  // of a line that has no end
    LineReader lines;
    while (!stop.stop_requested()) {
      pollfd output{child_.out(), POLLIN, 0};
      if (poll(&output, 1, static_cast<int>(kSlice.count())) <= 0) continue;
      const bool came = lines.read_from(child_.out());
      if (!came && !lines.ended()) continue;
      const std::lock_guard guard(mutex_);
      if (!came) {
        output_ended_ = true;
        changed_.notify_all();
        return on_end();
      }
      while (const auto line = lines.next()) hear(*line);
      unfinished_ = lines.rest(kMostShown);
      if (lines.waiting() > kLongestLine) {
        lines = {};
        break_off("line", "it said a line of more than 64 KiB");
      }
    }
  }

  /// REQUIRES: the mutex is held.
  void hear(const std::string& line) {
    if (phase_ == Phase::broken || phase_ == Phase::over) return;
    try {
      const auto answer = answer_from(line);
      const auto received = boot_ns();
      dialogue_.heard(answer, received);
      if (answer.is == Answer::Is::ready) {
        ready_ = true;
      } else if (answer.is != Answer::Is::lost) {
        const auto asked = asked_ns_[answer.id];
        heard_[answer.id] = {answer, received, asked};
        said_after_ns_ = std::max(said_after_ns_, asked);
      } else {
        on_lost(answer);
      }
      changed_.notify_all();
    } catch (const std::runtime_error& error) {
      break_off("line", error.what());
    }
  }

  const milliseconds answers_within_;
  std::string unfinished_;  ///< what it said after its last line, shortened
  Dialogue dialogue_;
  std::map<std::int64_t, std::int64_t> asked_ns_;  ///< the last question of each id
  std::map<std::int64_t, Heard> heard_;            ///< by the id of the question
  std::jthread reader_;                            ///< last: it uses the rest
};

}  // namespace leasehold::sim::live
