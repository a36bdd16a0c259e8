#pragma once

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace leasehold::lab {

/// An interactive shell on a terminal of its own, as a person uses it.
///
///     PseudoTerminal terminal;
///     terminal.type("sleep 100\n");
///     terminal.type(PseudoTerminal::kStop);
///     EXPECT_TRUE(terminal.shows("Stopped"));
class PseudoTerminal {
 public:
  static constexpr const char *kInterrupt = "\x03", *kStop = "\x1a";

  PseudoTerminal() {
    shell_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (shell_ != 0) return;
    for (const int one : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE}) signal(one, SIG_DFL);
    setenv("PS1", "ready>", 1);
    execl("/bin/bash", "bash", "--norc", "--noprofile", "--noediting", "-i", nullptr);
    _exit(127);
  }
  ~PseudoTerminal() {
    close(terminal_);  // SIGHUP to all jobs
    kill(shell_, SIGKILL);
    waitpid(shell_, nullptr, 0);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  void type(const std::string& text) const {
    // If the shell is gone nothing shows.
    (void)!::write(terminal_, text.data(), text.size());
  }

  /// Whether the text is shown within ten seconds, after the text of the last call.
  bool shows(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    do {
      if (const auto at = shown_.find(text, seen_); at != std::string::npos) {
        seen_ = at + text.size();
        return true;
      }
      pollfd ready{terminal_, POLLIN, 0};
      char buffer[4096];
      const auto n = poll(&ready, 1, 20) > 0 ? read(terminal_, buffer, sizeof buffer) : 0;
      if (n > 0) shown_.append(buffer, static_cast<std::size_t>(n));
    } while (std::chrono::steady_clock::now() < until);
    return false;
  }
  /// Runs a line to the next prompt.
  bool runs(const std::string& line) {
    type(line + "\n");
    return shows("ready>");
  }
  [[nodiscard]] const std::string& all() const { return shown_; }

 private:
  pid_t shell_ = -1;
  int terminal_ = -1;
  std::string shown_;
  std::size_t seen_ = 0;
};

}  // namespace leasehold::lab
