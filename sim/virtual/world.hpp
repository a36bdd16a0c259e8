#pragma once

#include <string>
#include <vector>

#include "model/history.hpp"
#include "sim/plan.hpp"
#include "sim/virtual/process.hpp"

/// The virtual world: a pure function from a plan to a history. No real time, no thread, no I/O.
namespace leasehold::sim::simulated {

struct VirtualRun {
  model::History history;
  EffectCounts took_effect;     ///< how often each fault of the plan took effect
  std::int64_t elapsed_ns = 0;  ///< of virtual time
  std::uint64_t events = 0;     ///< of the queue
};

/// Throws Unsupported when the lock sends what the simulated server does not know.
[[nodiscard]] VirtualRun run(const Plan& plan);

/// A hash of the whole history, as its JSON lines: the same on every machine and in every build.
[[nodiscard]] std::uint64_t hash(const model::History& history);

/// Where two histories part, as "line 7: ... against ..."; empty if they do not.
[[nodiscard]] std::string first_difference(const model::History& a, const model::History& b);

}  // namespace leasehold::sim::simulated
