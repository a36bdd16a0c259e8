#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The same scripts of commands and faults on a real replica set and on the simulated one, and what
/// a client sees of each.
namespace leasehold::properties {

class ComparedSet;
struct Script {
  const char* name;
  void (*run)(ComparedSet& set);
};
[[nodiscard]] const std::vector<Script>& scripts();

/// A line for each reply, with its comparable parts. Dates are only "date"; operation times are
/// shown by their rank among all that the script saw. Throws sim::live::NoMongod.
[[nodiscard]] std::string seen_of_a_real_set(const Script& script);
[[nodiscard]] std::string seen_of_a_simulated_set(const Script& script, std::uint64_t seed);

}  // namespace leasehold::properties
