#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"

namespace leasehold::cli {

/// A command in a process group of its own. Ends with this process at the latest.
///
/// The group gets the terminal if ours has it: at once, or, in a pipeline, when the command reads
/// it, because the other programs need it too. When the terminal stops the command, this program
/// takes the terminal back and stops as well, so that the shell sees a stopped job.
class Child {
 public:
  /// How a command ended.
  struct End {
    int code = 0;               ///< as shells say it: its exit code, or 128 and the signal
    int signal = 0;             ///< that ended it; 0: it ended by itself
    bool had_terminal = false;  ///< what the terminal sent, it sent to the command's group alone
  };

  /// Starts it, but it executes nothing before `go`. `environment` is added to ours. Throws
  /// Failure.
  Child(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t group() const { return pid_; }
  void go();
  /// False: it runs as another user, and none of its group may be sent this.
  bool signal(int number);

  /// Whether it has ended; its number stays taken until `reap`.
  [[nodiscard]] bool ended() const;
  /// The signal that stopped it since the last call, if this process is to stop with it. What only
  /// waited for the terminal has it now, and goes on.
  [[nodiscard]] std::optional<int> stopped();
  /// Stops this process and its group, and after that continues the command.
  void stop_with_it(int signal);

  /// REQUIRES: ended. Takes the terminal back.
  End reap();
  /// Whether processes that this user may not end are left in its group. REQUIRES: reaped.
  [[nodiscard]] bool left_others() const;

 private:
  enum class Foreground { ours, commands, another };
  [[nodiscard]] Foreground foreground() const;
  void give_terminal_to(pid_t group) const;
  void resume() const;

  pid_t pid_ = -1;
  int start_ = -1;
  int terminal_ = -1;
  bool told_to_stop_ = false;
};

/// A process of its own that ends a process group with SIGKILL: at a deadline, and at once when
/// this process is gone, however it ended. So the group ends also while this process is stopped or
/// was killed itself. It uses system calls only, so it may be forked beside threads.
class Guard {
 public:
  /// Throws Failure if there can be none.
  explicit Guard(pid_t group);
  ~Guard() { dismiss(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// The group may live until then, by CLOCK_BOOTTIME, on which leases run. Without a first call it
  /// may live as long as this process.
  void set_deadline(core::LocalInstant at);
  /// The group is to be left alone; returns when the guard is gone.
  void dismiss();

 private:
  void tell(std::int64_t value) const;

  int pipe_ = -1;
  pid_t pid_ = -1;
};

/// Runs a shell command without waiting for it; it outlives this process. Failures of it are its
/// own to report.
void run_detached(const std::string& shell_command, const std::vector<std::string>& environment);

}  // namespace leasehold::cli
