#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/abstract/lock_world.hpp"

/// A step of the abstract lock: what happens, to which client, and what it is called.
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

/// A step that led from one world to the other, in the words of the published diagrams.
[[nodiscard]] std::string tell(const Scope& scope, const lock_world::World& from, LockAction action,
                               const lock_world::World& to);

}  // namespace leasehold::model
