#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/live/system/child_process.hpp"

/// Programs that tests run, and what tests ask of them and of the files that they wrote.
namespace leasehold::lab {

struct Ran {
  int exit_code = -1;
  std::string out;  ///< standard output and error
};

/// Limits for what does one thing at once, on a busy machine, and for what runs plans: it may go on
/// for five times its seconds, and then make a failing plan smaller.
constexpr std::chrono::seconds kShortProgram{180}, kLongProgram{1'500};

/// Runs a program to its end, and keeps what it prints. If it has not ended within the limit, it is
/// killed, and the test fails.
inline Ran run_program(const std::vector<std::string>& command,
                       std::chrono::seconds limit = kShortProgram) {
  std::vector<std::string> shell{"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  shell.insert(shell.end(), command.begin(), command.end());
  sim::live::ChildProcess child(shell, sim::live::ChildProcess::Io::pipes);
  Ran ran;
  const auto until = std::chrono::steady_clock::now() + limit;
  ssize_t n = -1;
  while (n != 0 && std::chrono::steady_clock::now() < until) {
    pollfd wait{child.out(), POLLIN, 0};
    poll(&wait, 1, 10);
    char buffer[4096];
    n = ::read(child.out(), buffer, sizeof buffer);
    if (n > 0) ran.out.append(buffer, static_cast<std::size_t>(n));
  }
  if (n != 0 || !child.wait_ms(5'000)) {
    child.kill();
    constexpr std::size_t kLastWords = 2'000;
    std::string words;
    for (const auto& word : command) words += (words.empty() ? "" : " ") + word;
    ADD_FAILURE() << words << "\nhad not ended after " << limit.count() << " s; it said last:\n"
                  << ran.out.substr(ran.out.size() - std::min(ran.out.size(), kLastWords));
  } else if (WIFEXITED(child.exit_status())) {
    ran.exit_code = WEXITSTATUS(child.exit_status());
  }
  return ran;
}

/// Processes with a command line that contains `text`.
inline std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "cmdline");
    std::string line;
    std::getline(in, line, '\xff');  // all of it, and no exception for a process that just ended
    if (line.find(text) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

/// Runs a shell line in a folder.
inline Ran shell(const std::string& folder, const std::string& line) {
  return run_program({"/bin/sh", "-c", "cd '" + folder + "' && " + line});
}

/// Whether somebody said all of these.
template <typename... Part>
testing::AssertionResult has(const std::string& text, const Part&... parts) {
  const std::vector<std::string> all{std::string(parts)...};
  for (const auto& part : all) {
    if (text.find(part) != std::string::npos) continue;
    return testing::AssertionFailure() << "'" << part << "' is not in what was said: " << text;
  }
  return testing::AssertionSuccess() << "it is in what was said: " << text;
}
template <typename... Part>
testing::AssertionResult has(const Ran& ran, const Part&... parts) {
  return has(ran.out, parts...);
}

/// Whether a program ended with this code and said all of these.
template <typename... Part>
testing::AssertionResult ended(const Ran& ran, int code, const Part&... parts) {
  if (ran.exit_code == code) return has(ran, parts...);
  return testing::AssertionFailure() << "it ended with " << ran.exit_code << ": " << ran.out;
}

inline std::string content_of(const std::string& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}
inline nlohmann::json json_of(const std::string& file) {
  return nlohmann::json::parse(content_of(file));
}

}  // namespace leasehold::lab
