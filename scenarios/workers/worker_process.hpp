#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "sim/live/foreign/worker_protocol.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

struct NoAnswerOfAServer {};

/// On a busy machine a command may take longer than a worker allows: then once more.
inline void undisturbed(const std::function<void()>& story) {
  for (int tries = 0; tries < 5; ++tries) {
    try {
      return story();
    } catch (const NoAnswerOfAServer&) {
      continue;
    }
  }
  FAIL() << "no server answered in time";
}

/// A process of a worker, which is started and asked line by line, without a laboratory; it ends
/// with its owner.
class WorkerProcess {
 public:
  using Is = Answer::Is;

  WorkerProcess(const std::string& command, const std::string& uri, const std::string& name,
                const std::string& database, std::int64_t lease_ms)
      : child_({"sh", "-c", "exec " + command}, ChildProcess::Io::pipes) {
    dialogue_.started(now_ns());
    child_.say(start_line({name, with_option(uri, "appName=" + name), database, lease_ms}));
    EXPECT_EQ(answer(0), Answer::Is::ready);
  }

  /// Its signals, and its end.
  ChildProcess& child() { return child_; }

  void ask_for(std::int64_t id, std::int64_t timeout_ms) {
    say(Dialogue::Question::acquire, id, acquire_line(id, "lock-0", timeout_ms));
  }
  Is acquire(std::int64_t id, std::int64_t timeout_ms) {
    ask_for(id, timeout_ms);
    return answer(id);
  }
  Is ask(std::int64_t id) {
    say(Dialogue::Question::ask, id, ask_line(id));
    return answer(id);
  }
  Is release(std::int64_t id) {
    say(Dialogue::Question::release, id, release_line(id));
    return answer(id);
  }
  /// Others may come before, and a loss at any time. Throws what is wrong with one.
  Is answer(std::int64_t id) {
    while (!answers_.contains(id)) {
      const auto heard = answer_from(line());
      dialogue_.heard(heard, now_ns());
      if (heard.is == Is::failed || heard.is == Is::unknown) throw NoAnswerOfAServer();
      if (heard.is != Is::lost) answers_[heard.id] = heard.is;
    }
    return answers_.extract(id).mapped();
  }

 private:
  static std::int64_t now_ns() {  // CLOCK_MONOTONIC, as the workers under test
    return std::chrono::steady_clock::now().time_since_epoch().count();
  }
  void say(Dialogue::Question question, std::int64_t id, const std::string& line) {
    dialogue_.asked(question, id, now_ns());
    child_.say(line);
  }
  std::string line() {
    for (int turn = 0; turn < 3'000; ++turn) {
      if (auto first = lines_.next()) return *first;
      pollfd wait{child_.out(), POLLIN, 0};
      poll(&wait, 1, 10);
      if (!lines_.read_from(child_.out()) && lines_.ended()) break;
    }
    throw std::runtime_error("it ended, or said nothing for 30 s");
  }

  ChildProcess child_;
  Dialogue dialogue_;
  std::map<std::int64_t, Is> answers_;
  LineReader lines_;
};

}  // namespace leasehold::sim::live
