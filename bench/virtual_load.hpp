#pragma once

#include <cstdint>
#include <leasehold/waiting.hpp>
#include <memory>
#include <vector>

#include "bench/contention_stats.hpp"

/// Many clients and one lock in virtual time: the production core and the simulated replica set,
/// without faults, so that thousands of waiters cost no machine.
namespace leasehold::bench {

enum class Holding {
  constant,
  exponential,
  heavy_tailed,  ///< Pareto with exponent 1.5: a few take a hundred times as long
  bimodal        ///< nine short ones, then one sixteen times as long
};

struct VirtualLoad {
  std::shared_ptr<const WaitingStrategy> waiting = uniform_waiting();
  int clients = 16;
  Holding holding = Holding::constant;
  double mean_hold_ms = 5;
  double pause_ms = 100;    ///< after a release: uniform from 0
  int times = 0;            ///< each client takes it so often; 0: until the end
  double seconds = 20;      ///< the end, at the latest
  double measure_from = 5;  ///< some strategies learn
  std::uint64_t seed = 1;
};

struct VirtualContention {
  std::vector<Taken> taken;
  std::int64_t commands = 0;             ///< from `measure_from` on
  std::int64_t attempts = 0;             ///< of all
  std::int64_t most_attempts_per_s = 0;  ///< in any second, that of the first rush included
  double write_ms = 0;                   ///< one majority write, measured alone
  double elapsed_s = 0;
};

[[nodiscard]] VirtualContention contend(const VirtualLoad& load);

}  // namespace leasehold::bench
