#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/contention_stats.hpp"

namespace leasehold::bench {

/// How callers fight over one lock, again and again: ask, hold, release, pause.
struct Load {
  std::string strategy = "uniform";
  int processes = 1;  ///< OS processes
  int providers = 1;  ///< in each; apart from each other, as clients of their own
  int callers = 1;    ///< threads of each provider
  int hand_overs = 8;
  std::int64_t hold_us = 5'000;
  std::int64_t pause_us = 100'000;  ///< after a release: uniform from 0
  /// If not 0, an open loop: arrivals at random times ask for so much of the time that an ideal
  /// lock has, whether or not they are served, and whoever is idle acquires for the next of them.
  int busy_percent = 0;
  [[nodiscard]] int all_callers() const { return processes * providers * callers; }
};

/// What one OS process gets.
struct ContenderOrder {
  Load load;
  int process = 0;
  std::int64_t arrival_us = 0;  ///< between two arrivals at this process, on average; open loop
  std::string uri, database;
  std::int64_t from_ns = 0, to_ns = 0;  ///< of the boot clock
};

struct Contended {
  std::vector<Taken> taken;
  std::int64_t commands = 0;  ///< on the wire, between from and to
};

[[nodiscard]] std::string to_json(const ContenderOrder& order);
[[nodiscard]] ContenderOrder order_from_json(const std::string& text);
[[nodiscard]] std::string to_json(const Contended& contended);
[[nodiscard]] Contended contended_from_json(const std::string& text);

/// Fights until the order's time is over.
[[nodiscard]] Contended contend(const ContenderOrder& order);

/// The names that `Load::strategy` may have.
[[nodiscard]] const std::vector<std::string>& strategies();

/// The clock that all contenders share, in ns.
[[nodiscard]] std::int64_t boot_ns();

}  // namespace leasehold::bench
