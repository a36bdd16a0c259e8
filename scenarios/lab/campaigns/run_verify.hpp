#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "properties/campaigns/verify.hpp"
#include "properties/stories/scenario.hpp"
#include "scenarios/lab/ran_fixture.hpp"

/// Tests that run plans by the laboratory's command give it as long as it may take.
namespace leasehold::lab {

/// A command of `verify`, with as much time as its options ask for.
inline Ran run_verify(const std::vector<std::string>& command) {
  properties::VerifyOptions options;
  for (std::size_t i = 0; i + 1 < command.size(); ++i) {
    if (command[i] == "--seconds") options.seconds = std::stoi(command[i + 1]);
    if (command[i] != "--plan") continue;
    std::ifstream file(command[i + 1]);
    options.plan = sim::plan_from_scn({std::istreambuf_iterator<char>(file), {}});
  }
  return run_program(command, properties::longest_run(options));
}

/// How long `scenario run NAME --world live --tries 3` may take, with its own lock and ours.
inline std::chrono::seconds longest_story(const std::string& name) {
  constexpr int kTries = 3, kLocks = 2;
  for (const auto& file : std::filesystem::recursive_directory_iterator(LEASEHOLD_SCENARIOS)) {
    if (file.path().filename() != name + ".scn") continue;
    return kShortProgram +
           kTries * kLocks * sim::live::longest_run(properties::read_scenario(file.path()).plan);
  }
  throw std::runtime_error("no story is named " + name);
}

}  // namespace leasehold::lab
