#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "sim/live/foreign/conversation.hpp"
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
class WorkerProcess final : private Conversation {
 public:
  using Is = Answer::Is;

  WorkerProcess(const std::string& command, const std::string& uri, const std::string& name,
                const std::string& database, std::int64_t lease_ms)
      : Conversation(now_ns, milliseconds(30'000)) {
    start(ChildProcess({"sh", "-c", "exec " + command}, ChildProcess::Io::pipes),
          {name, with_option(uri, "appName=" + name), database, lease_ms});
    EXPECT_TRUE(await_ready()) << why_;
  }
  ~WorkerProcess() { stop_reading(); }

  void ask_for(std::int64_t id, std::int64_t timeout_ms) {
    (void)Conversation::ask(Question::acquire, id, acquire_line(id, "lock-0", timeout_ms));
  }
  Is acquire(std::int64_t id, std::int64_t timeout_ms) {
    ask_for(id, timeout_ms);
    return answer(id);
  }
  Is ask(std::int64_t id) {
    (void)Conversation::ask(Question::ask, id, ask_line(id));
    return answer(id);
  }
  Is release(std::int64_t id) {
    (void)Conversation::ask(Question::release, id, release_line(id));
    return answer(id);
  }
  /// Others may come before, and a loss at any time. Throws what is wrong with one.
  Is answer(std::int64_t id) {
    const auto heard = Conversation::answer(id, 0);
    if (!heard) throw std::runtime_error(why_);
    const auto is = heard->answer.is;
    if (is == Is::failed || is == Is::unknown) throw NoAnswerOfAServer();
    return is;
  }
  /// Its signals, and its end.
  ChildProcess& child() { return child_; }

 private:
  static std::int64_t now_ns() {  // CLOCK_MONOTONIC, as the workers under test
    return std::chrono::steady_clock::now().time_since_epoch().count();
  }
  void on_broken(const std::string&, const std::string& why) override { why_ = why; }

  std::string why_;
};

}  // namespace leasehold::sim::live
