#pragma once

#include "model/scopes/lock_system.hpp"

/// The liveness promises of the abstract lock. They apply once faults have stopped: there is no
/// crash, loss or failover any more, no client gives up, and awaited steps take less than a tick.
namespace leasehold::model {

enum class Promise {
  passes_on,  ///< G7: while a client waits and none holds, a client gets the lock
  cleans_up,  ///< G8: a document that no client stands behind goes, or another's takes its place
};

/// LockSystem with the interface of EventuallySearch. REQUIRES: not `losses_late`.
class LockLiveness {
 public:
  using State = LockSystem::State;
  using Action = LockSystem::Action;
  static constexpr int kFairKinds = 10;
  static constexpr std::uint32_t kGoesOn = 1;  ///< the tick

  LockLiveness(const Scope& scope, Promise promise)
      : scope_(scope), system_(scope), promise_(promise) {}

  template <typename Emit>
  void initial(Emit emit) const {
    system_.initial(emit);
  }
  template <typename Emit>
  void successors(const State& state, Emit emit) const {
    system_.successors(state, emit);
  }
  [[nodiscard]] static Judgement judge(const State&) { return {}; }
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const {
    return system_.story(path);
  }

  [[nodiscard]] bool pending(const State& state) const {
    return pending_in(lock_world::unpack(state, scope_));
  }

  template <typename Emit>
  void calm_successors(const State& state, Emit emit) const {
    const auto from = lock_world::unpack(state, scope_);
    steps_.clear();
    system_.steps(from, steps_);
    for (const auto& [world, action] : steps_) {
      if (!is_calm(from, action)) continue;
      emit(lock_world::state_of(world, scope_), fair_kind(from, action), ends(from, world));
    }
  }

 private:
  using World = LockSystem::World;

  [[nodiscard]] bool pending_in(const World& w) const;
  [[nodiscard]] bool is_calm(const World& from, Action action) const;
  [[nodiscard]] bool ends(const World& from, const World& to) const;
  [[nodiscard]] static int fair_kind(const World& from, LockSystem::Action action);

  const Scope scope_;
  const LockSystem system_;
  const Promise promise_;
  mutable LockSystem::Out steps_;
};

}  // namespace leasehold::model
