#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace leasehold::cli {

/// A command in a process group of its own, which has the terminal if we had it. Ends with this
/// process at the latest.
class Child {
 public:
  /// Starts it, but it executes nothing before `go`. `environment` is added to ours. Throws
  /// std::runtime_error.
  Child(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t group() const { return pid_; }
  void go();
  void signal(int number) const;

  /// Whether it has ended; its number stays taken until `reap`.
  [[nodiscard]] bool ended() const;
  /// As shells say it: its exit code, or 128 and the signal. REQUIRES: ended.
  int reap();

 private:
  pid_t pid_ = -1;
  int start_ = -1;
  bool had_terminal_ = false;
};

/// Runs a shell command that nobody waits for and that outlives this process. Failures of it are
/// its own to report.
void run_detached(const std::string& shell_command, const std::vector<std::string>& environment);

}  // namespace leasehold::cli
