#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace leasehold::bench {

struct SpinRun {
  std::uint64_t states = 0;
  double cpu_seconds = 0;
};

/// Runs a verifier that Spin made of small_protocol.pml, to its end, with a table of 2^table_bits
/// slots. Throws std::runtime_error when it does not end well.
inline SpinRun run_spin(const std::string& verifier, int table_bits) {
  const auto children = [] {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  };
  const double before = children();
  const std::string command = verifier + " -m1000000 -w" + std::to_string(table_bits) + " 2>&1";
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("cannot run " + verifier);
  SpinRun run;
  bool clean = false;
  std::array<char, 256> line{};
  while (fgets(line.data(), line.size(), output) != nullptr) {
    const std::string text(line.data());
    if (text.find("states, stored") != std::string::npos) run.states = std::stoull(text);
    clean = clean || text.find("errors: 0") != std::string::npos;
  }
  if (pclose(output) != 0 || !clean) throw std::runtime_error(verifier + " did not end well");
  run.cpu_seconds = children() - before;
  return run;
}

}  // namespace leasehold::bench
