#pragma once

#include <string>
#include <vector>

#include "model/spec/exploration.hpp"
#include "sim/plan/plan.hpp"

/// From the abstract lock to the real one: turns a counterexample of the explorer into a story for
/// both worlds.
namespace leasehold::properties {

/// A lease of the abstract lock has two ticks; this is one in a story.
inline constexpr std::int64_t kTick_ms = 500;

/// The plan has the same asks, releases, deaths, failovers and passes of the TTL monitor at the
/// same times, and links that make each message as late as in the counterexample. The lock itself
/// decides when it tries again, extends, cleans up and gives up waiting for an answer. So a sound
/// lock survives what breaks a variant, and a lock with the variant's error mostly breaks.
///
/// The lock also plays a client of the .NET package.
[[nodiscard]] sim::Plan counterexample_plan(const model::Scope& scope,
                                            const std::vector<model::Taken>& way,
                                            const std::string& lock);

}  // namespace leasehold::properties
