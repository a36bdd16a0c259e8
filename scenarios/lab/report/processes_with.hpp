#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace leasehold::lab {

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

}  // namespace leasehold::lab
