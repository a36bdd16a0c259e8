#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/lab/run_program.hpp"

/// What tests ask of a program that ran, and of the files that it wrote.
namespace leasehold::lab {

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
