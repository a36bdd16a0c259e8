#pragma once

#include <chrono>

#include "bench/contend/load.hpp"
#include "bench/contend/samples.hpp"

namespace leasehold::bench {

/// One run in virtual time: the production core and the simulated replica set, without faults, so
/// that thousands of waiters cost no machine. The same seed gives the same samples on every
/// machine. REQUIRES: one caller a client, and no programs as strategies.
[[nodiscard]] RunResult run_virtual(const Load& load, std::chrono::milliseconds round_trip = {});

/// One majority write there, alone, on average.
[[nodiscard]] double virtual_write_ms(std::chrono::milliseconds round_trip = {});

}  // namespace leasehold::bench
