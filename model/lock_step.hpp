#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/lock_world.hpp"

/// A step of the abstract lock: what happens, to whom, and what it is called.
namespace leasehold::model {

enum class LockAct : lock_world::Byte {
  tick,
  commit,
  failover,
  step_down,
  ttl_pass,
  start,
  execute,
  execute_stale,
  lose,
  deliver,
  attempt,
  time_out,
  give_up,
  extend,
  release,
  clean_up,
  crash,
  hand_over,
  hear,
  lose_notice,
  read_stream
};

struct LockAction {
  LockAct act;
  lock_world::Byte client;
  lock_world::Byte slot;
  lock_world::Byte waited;  ///< ticks inside the server before it was executed; hand-over: receiver
};

/// Steps, each with the world after it.
using LockSteps = std::vector<std::pair<lock_world::World, LockAction>>;

/// Calls `f` with each of the first steps, and the state after it.
template <typename F>
void each_state(const LockSteps& steps, std::size_t count, const Scope& scope, F f) {
  using lock_world::kLanes;
  lock_world::Several<const lock_world::World*> worlds;
  for (std::size_t at = 0; at < count; at += kLanes) {
    const std::size_t several = std::min(count - at, kLanes);
    for (std::size_t i = 0; i < kLanes; ++i) worlds[i] = &steps[std::min(at + i, count - 1)].first;
    const auto states = lock_world::states_of(worlds, scope);
    for (std::size_t i = 0; i < several; ++i) f(at + i, states[i]);
  }
}

/// A step that led from one world to the other, in the words of the published diagrams.
[[nodiscard]] std::string tell(const Scope& scope, const lock_world::World& from, LockAction action,
                               const lock_world::World& to);

}  // namespace leasehold::model
