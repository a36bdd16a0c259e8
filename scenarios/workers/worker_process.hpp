#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>

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

  void ask_for(std::int64_t id, std::int64_t timeout_ms) {
    dialogue_.asked(Question::acquire, id, now_ns());
    child_.say(acquire_line(id, "lock-0", timeout_ms));
  }
  Is acquire(std::int64_t id, std::int64_t timeout_ms) {
    ask_for(id, timeout_ms);
    return answer(id);
  }
  Is ask(std::int64_t id) {
    dialogue_.asked(Question::ask, id, now_ns());
    child_.say(ask_line(id));
    return answer(id);
  }
  Is release(std::int64_t id) {
    dialogue_.asked(Question::release, id, now_ns());
    child_.say(release_line(id));
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
  void send_signal(int signal) { child_.send_signal(signal); }
  int exit_code_after(const std::string& line) {
    child_.say(line);
    EXPECT_TRUE(child_.wait_ms(10'000));
    return WIFEXITED(child_.exit_status()) ? WEXITSTATUS(child_.exit_status()) : -1;
  }
  bool ends_with_its_input() {
    child_.close_input();
    return child_.wait_ms(10'000);
  }

 private:
  using Question = Dialogue::Question;

  static std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
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
