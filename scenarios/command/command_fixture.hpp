#pragma once

#include <signal.h>

#include <cstdlib>

#include "scenarios/command/ended_test.hpp"

namespace leasehold::lab {

using sim::live::ChildProcess;
using sim::live::eventually;
using std::chrono::milliseconds;
using std::chrono::seconds;

enum Code { kNotAcquired = 75, kLost = 76 };

/// The command `leasehold` as people run it, on a real set.
class Command : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    // Commands would inherit the signals that this test was started to ignore.
    for (const int one : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE}) signal(one, SIG_DFL);
    setenv("LEASEHOLD_URI", shared_set().uri().c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::vector<std::string> words(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LEASEHOLD_COMMAND_PROGRAM);
    return arguments;
  }
  static Ran leasehold(std::vector<std::string> arguments) {
    return run_program(words(std::move(arguments)));
  }

  /// `leasehold run` of a shell line that first writes its process number down.
  ChildProcess start(const std::string& line, const std::string& expiry = "30s",
                     std::vector<std::string> more = {}) {
    const std::string script = "echo $$ > '" + pid_file() + ".new'; mv '" + pid_file() + ".new' '" +
                               pid_file() + "'; " + line;
    std::vector<std::string> all{"run", "--lock", lock_, "--expiry", expiry};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--", "/bin/sh", "-c", script});
    ChildProcess wrapper(words(all), ChildProcess::Io::nothing);
    EXPECT_TRUE(appears("pid"));
    return wrapper;
  }
  /// Whether the command soon writes this file.
  bool appears(const std::string& file) const {
    return eventually([&] { return fs::exists(folder_ + "/" + file); });
  }
  [[nodiscard]] std::string pid_file() const { return folder_ + "/pid"; }
  [[nodiscard]] pid_t child() const {
    pid_t pid = 0;
    std::ifstream(pid_file()) >> pid;
    return pid;
  }
  [[nodiscard]] bool child_is_gone() const { return is_gone(child()); }
  /// It may still be a zombie, until its parent asks how it ended.
  static bool is_gone(pid_t pid) {
    const auto stat = sim::live::kernel_stat(pid);
    return stat.empty() || stat.front() == "Z";
  }

  static int code_of(ChildProcess& wrapper) {
    EXPECT_TRUE(wrapper.wait_ms(60'000));
    return WIFEXITED(wrapper.exit_status()) ? WEXITSTATUS(wrapper.exit_status()) : -1;
  }
  [[nodiscard]] bool lock_is_free() const { return leasehold({"show", lock_}).exit_code == 1; }

  const std::string lock_ = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string folder_ =
      testing::TempDir() + "leasehold-command-test-" + std::to_string(getpid());
};

}  // namespace leasehold::lab
