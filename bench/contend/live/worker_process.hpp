#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sim/live/foreign/worker_protocol.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::bench {

/// A worker around the user's lock, which speaks the lines of scenarios/WORKERS.md: it is started,
/// asked, and killed with its owner. Thread safety: all calls from any thread. Errors:
/// std::runtime_error if it ended, hangs, or says what answers no question of ours.
class WorkerProcess {
 public:
  /// `command` is for sh.
  WorkerProcess(const std::string& command, const sim::live::StartOrder& order);

  void await_ready(std::chrono::milliseconds limit);

  struct Acquired {
    std::int64_t id = 0;
    sim::live::Answer answer;
  };
  /// Waits for its answer, which may take that long.
  Acquired acquire(const std::string& name, std::chrono::milliseconds timeout);
  sim::live::Answer release(std::int64_t id);

 private:
  sim::live::Answer answer_to(std::int64_t id, std::chrono::milliseconds limit);
  void ask(sim::live::Dialogue::Question question, std::int64_t id, const std::string& line);
  void read(const std::stop_token& stop);
  void hear(const std::string& line);
  void fail(const std::string& why);

  sim::live::ChildProcess child_;
  std::mutex mutex_;  // protects the rest
  std::condition_variable changed_;
  sim::live::Dialogue dialogue_;
  std::map<std::int64_t, sim::live::Answer> answers_;  ///< by id; 0: that it is ready
  std::int64_t ids_ = 0;
  std::string error_;
  std::jthread reader_;  // ends first
};

}  // namespace leasehold::bench
