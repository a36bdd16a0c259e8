#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scenarios/lab/ran_fixture.hpp"

/// For tests that run the laboratory's command.
namespace leasehold::lab {

inline Ran lab(std::vector<std::string> words) {
  words.insert(words.begin(), LEASEHOLD_LAB_PROGRAM);
  return run_program(words);
}

/// A folder of its own for a test's files; the commands run in an empty one beside it.
class Place {
 public:
  Place() {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(cwd);
  }
  ~Place() { std::filesystem::remove_all(root); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(root + "/" + name) << text;
    return root + "/" + name;
  }
  /// What a command wrote.
  [[nodiscard]] std::string read(const std::string& name) const {
    return content_of(cwd + "/" + name);
  }
  [[nodiscard]] Ran run(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", cwd, LEASEHOLD_LAB_PROGRAM});
    return run_program(words);
  }
  [[nodiscard]] bool is_untouched() const { return std::filesystem::is_empty(cwd); }

  const std::string root = testing::TempDir() + "leasehold-cli-" + std::to_string(getpid());
  const std::string cwd = root + "/cwd";
};

}  // namespace leasehold::lab
