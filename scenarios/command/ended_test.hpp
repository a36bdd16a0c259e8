#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scenarios/lab/run_program.hpp"
#include "sim/live/live_test.hpp"

namespace leasehold::lab {

namespace fs = std::filesystem;
using sim::live::shared_set;

/// Whether somebody said this.
inline testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "what was said lacks '" << part << "': " << text;
}
inline testing::AssertionResult has(const Ran& ran, const std::string& part) {
  return has(ran.out, part);
}

/// Whether a program ended with this code and said all of these.
template <typename... Part>
testing::AssertionResult ended(const Ran& ran, int code, const Part&... parts) {
  if (ran.exit_code == code && (... && (ran.out.find(parts) != std::string::npos))) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "it ended with " << ran.exit_code << ": " << ran.out;
}

}  // namespace leasehold::lab
