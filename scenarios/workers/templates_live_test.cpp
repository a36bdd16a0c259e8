#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <stdexcept>

#include "sim/live/live_test.hpp"
#include "sim/live/worker_protocol.hpp"

/// The templates of workers, each in its language, on a real replica set.
namespace leasehold::sim::live {
namespace {

using Is = Answer::Is;
using Question = Dialogue::Question;

constexpr std::int64_t kShort_ms = 1'500;
constexpr std::int64_t kLong_ms = 60'000;  ///< over before the test by no slowness of the machine

struct Template {
  std::string language;
  std::string command;  ///< for sh
  std::string built;  ///< what scripts/others --templates makes; empty: nothing is needed
};

void PrintTo(const Template& one, std::ostream* out) { *out << one.language; }

std::vector<Template> templates() {
  const std::string sources = LEASEHOLD_TEMPLATES;
  const std::string others = LEASEHOLD_OTHERS, built = others + "/templates";
  return {
      {"Cpp", LEASEHOLD_WORKER_TEMPLATE, ""},
      {"Python", "/usr/bin/python3 " + sources + "/python/worker.py", ""},
      {"Go", built + "/go/worker", built + "/go/worker"},
      {"Rust", others + "/target/debug/worker", others + "/target/debug/worker"},
      {"Java", "java -cp '" + built + "/java:" + built + "/java/lib/*' Worker 2>/dev/null",
       built + "/java/Worker.class"},
      {"NodeJs",
       "env NODE_PATH=" + built + "/node/node_modules node " + sources + "/node/worker.js",
       built + "/node/node_modules"},
  };
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// A process of it, which is started; it ends with its owner.
class Process {
 public:
  Process(const std::string& command, const std::string& name, const std::string& database,
          std::int64_t lease_ms)
      : child_({"sh", "-c", "exec " + command}, ChildProcess::Io::pipes) {
    dialogue_.started(now_ns());
    child_.say(start_line(
        {name, with_option(shared_set().uri(), "appName=" + name), database, lease_ms}));
    EXPECT_EQ(answer(0), Is::ready);
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
  std::string line() {
    for (int turn = 0; turn < 3'000; ++turn) {
      if (const auto end = said_.find('\n'); end != std::string::npos) {
        auto first = said_.substr(0, end);
        said_.erase(0, end + 1);
        return first;
      }
      pollfd wait{child_.out(), POLLIN, 0};
      poll(&wait, 1, 10);
      char buffer[4096];
      const auto n = read(child_.out(), buffer, sizeof buffer);
      if (n > 0) said_.append(buffer, static_cast<std::size_t>(n));
      if (n == 0) break;
    }
    throw std::runtime_error("it ended, or said nothing for 30 s");
  }

  ChildProcess child_;
  Dialogue dialogue_;
  std::map<std::int64_t, Is> answers_;
  std::string said_;
};

class Templates : public testing::TestWithParam<Template> {
 protected:
  void SetUp() override {
    const auto& built = GetParam().built;
    if (!built.empty() && !std::filesystem::exists(built)) {
      GTEST_SKIP() << GetParam().language << ": scripts/others --templates builds it";
    }
  }
  [[nodiscard]] static Process start(const std::string& name, const std::string& database,
                                     std::int64_t lease_ms) {
    return {GetParam().command, name, database, lease_ms};
  }
};

TEST_P(Templates, AnswersEachQuestion) {
  auto p = start("p0.1", fresh_database(), kLong_ms);
  EXPECT_EQ(p.acquire(1, 0), Is::granted);
  EXPECT_EQ(p.ask(1), Is::held);
  EXPECT_EQ(p.acquire(2, 0), Is::refused);
  EXPECT_EQ(p.acquire(3, 300), Is::timed_out);
  EXPECT_EQ(p.release(1), Is::released);
  EXPECT_EQ(p.acquire(4, 0), Is::granted);
  p.ask_for(5, 10'000);
  EXPECT_EQ(p.release(4), Is::released);
  EXPECT_EQ(p.answer(5), Is::granted);
  EXPECT_EQ(p.exit_code_after(stop_line()), 0);
}

TEST_P(Templates, PassesOnTheLockOfAProcessThatStops) {
  const auto database = fresh_database();
  auto stopped = start("p0.1", database, kShort_ms);
  auto other = start("p1.1", database, kShort_ms);
  ASSERT_EQ(stopped.acquire(1, 0), Is::granted);
  stopped.send_signal(SIGSTOP);
  EXPECT_EQ(other.acquire(1, 20 * kShort_ms), Is::granted);
  stopped.send_signal(SIGCONT);
  EXPECT_EQ(stopped.ask(1), Is::not_held);
  EXPECT_EQ(stopped.release(1), Is::not_owner);
  EXPECT_EQ(other.release(1), Is::released) << "the late release freed it";
  EXPECT_TRUE(other.ends_with_its_input());
}

INSTANTIATE_TEST_SUITE_P(Languages, Templates, testing::ValuesIn(templates()),
                         [](const auto& one) { return one.param.language; });

}  // namespace
}  // namespace leasehold::sim::live
