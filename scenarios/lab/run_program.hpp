#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "sim/live/system/child_process.hpp"

namespace leasehold::lab {

struct Ran {
  int exit_code = -1;
  std::string out;  ///< standard output and error
};

/// Runs a program to its end, at most three minutes, and keeps what it prints.
inline Ran run_program(const std::vector<std::string>& command) {
  std::vector<std::string> shell{"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  shell.insert(shell.end(), command.begin(), command.end());
  sim::live::ChildProcess child(shell, sim::live::ChildProcess::Io::pipes);
  Ran ran;
  for (int turn = 0; turn < 18'000; ++turn) {
    pollfd wait{child.out(), POLLIN, 0};
    poll(&wait, 1, 10);
    char buffer[4096];
    const auto n = ::read(child.out(), buffer, sizeof buffer);
    if (n > 0) ran.out.append(buffer, static_cast<std::size_t>(n));
    if (n == 0) break;
  }
  if (child.wait_ms(5'000) && WIFEXITED(child.exit_status())) {
    ran.exit_code = WEXITSTATUS(child.exit_status());
  }
  return ran;
}

/// Runs a shell line in a folder.
inline Ran shell(const std::string& folder, const std::string& line) {
  return run_program({"/bin/sh", "-c", "cd '" + folder + "' && " + line});
}

}  // namespace leasehold::lab
