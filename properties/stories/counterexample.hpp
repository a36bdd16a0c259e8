#pragma once

#include <string>
#include <vector>

#include "model/scopes/lock_system.hpp"
#include "sim/plan/plan.hpp"

/// From the abstract lock to the real one: turns a counterexample of the explorer into a story for
/// both worlds.
namespace leasehold::properties {

/// The abstract lock for an explorer. It keeps the path of its last story, step by step. Not
/// thread-safe while it makes one.
class TracedLock : public model::LockSystem {
 public:
  using LockSystem::LockSystem;
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const {
    way_ = way(path);
    return LockSystem::story(path);
  }
  [[nodiscard]] const std::vector<Taken>& counterexample() const { return way_; }

 private:
  mutable std::vector<Taken> way_;
};

/// A lease of the abstract lock has two ticks; this is one in a story.
inline constexpr std::int64_t kTick_ms = 500;

/// The plan has the same asks, releases, deaths, failovers and passes of the TTL monitor at the
/// same times, and links that make each message as late as in the counterexample. The lock itself
/// decides when it tries again, extends, cleans up and gives up waiting for an answer. So a sound
/// lock survives what breaks a variant, and a lock with the variant's error mostly breaks.
///
/// The lock also plays a client of the .NET package.
[[nodiscard]] sim::Plan counterexample_plan(const model::Scope& scope,
                                            const std::vector<model::LockSystem::Taken>& way,
                                            const std::string& lock);

}  // namespace leasehold::properties
