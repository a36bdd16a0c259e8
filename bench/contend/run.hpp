#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "bench/contend/load.hpp"

namespace leasehold::bench {

constexpr std::int64_t kNever = INT64_MAX;

/// One request and its result; times in ns from the beginning of the measured time.
struct Sample {
  int client = 0, lock = 0;
  std::int64_t asked_ns = 0;
  std::int64_t granted_ns = kNever;   ///< kNever: not even after the measured time
  std::int64_t released_ns = kNever;  ///< when the release was called
  bool operator==(const Sample&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sample, client, lock, asked_ns, granted_ns, released_ns)

/// Commands on the wire, in the measured time.
struct WireCounts {
  std::int64_t writes = 0, reads = 0;
  std::map<std::int64_t, std::int64_t> attempts;  ///< by second, from 0: findAndModify
  bool counted = true;  ///< false: a worker's commands cannot be seen

  /// `command` is its name; it counts if `at_ns` is before `end_ns`.
  void count(const std::string& command, std::int64_t at_ns, std::int64_t end_ns);
  void add(const WireCounts& other);
  [[nodiscard]] std::int64_t all_attempts() const;
  [[nodiscard]] std::int64_t most_attempts_per_s() const;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WireCounts, writes, reads, attempts)

/// What one run of one strategy measured.
struct RunResult {
  int run = 0;
  std::string strategy;
  int repetition = 0;
  std::uint64_t seed = 0;
  std::vector<Sample> samples;
  WireCounts wire;
  double write_ms = 0;        ///< one majority write of the bare driver, on average
  double server_cpu_s = -1;   ///< of all members, in the measured time; -1: not ours
  double machine_idle = -1;   ///< share of all cores; -1: virtual
  double arrivals_per_s = 0;  ///< of an open loop
};

/// One run in virtual time: the production core and the simulated replica set, without faults, so
/// that thousands of waiters cost no machine. The same seed gives the same samples on every
/// machine. REQUIRES: one caller a client, and no worker as strategy.
[[nodiscard]] RunResult run_virtual(const Load& load, std::chrono::milliseconds round_trip = {});

/// One majority write there, alone, on average.
[[nodiscard]] double virtual_write_ms(std::chrono::milliseconds round_trip = {});

inline constexpr const char* kSamplesHeader =
    "run,strategy,repetition,client,lock,asked_ns,granted_ns,released_ns,censored\n";
inline constexpr const char* kRunsHeader =
    "run,strategy,repetition,seed,writes,reads,attempts,most_attempts_per_s,write_ms,server_cpu_s,"
    "machine_idle,arrivals_per_s\n";
/// A row for each request: one that still waited at the end of the measured time has `censored` 1.
void write_samples(std::ostream& out, const RunResult& run, std::int64_t end_ns);
/// A row for each run, with figures that no single request has.
void write_run(std::ostream& out, const RunResult& run);

}  // namespace leasehold::bench
