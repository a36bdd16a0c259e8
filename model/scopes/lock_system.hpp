#pragma once

#include <string>
#include <vector>

#include "model/abstract/lock_clients.hpp"
#include "model/abstract/lock_server.hpp"
#include "model/abstract/lock_step.hpp"
#include "model/scopes/lock_checks.hpp"

/// The lock in small scope: clients, one document, messages that are late or lost, a primary and
/// its successor, an old primary that does not know of it, clocks that are off, the TTL monitor,
/// and a fenced resource that sees each grant when its holder does.
///
/// A paused client takes no step; any client may pause at any time for any time. The worst effect
/// of drift is built in: each side keeps a margin of one tick against it, and the tick is lost.
///
/// Not thread-safe, not even the const functions, because they use mutable members.
namespace leasehold::model {

/// Lists the steps that a world can take. `LockServer` and `LockClients` execute a step;
/// `lock_checks` says what must hold in a world.
///
/// INVARIANT: the steps of a world come in one order, whatever was explored before, so that the
/// shortest counterexamples are the same each time.
class LockSystem {
 public:
  using State = lock_world::State;
  using World = lock_world::World;
  using Act = LockAct;
  using Action = LockAction;
  using Out = LockSteps;

  /// Throws std::invalid_argument for a scope with states that do not fit.
  explicit LockSystem(const Scope& scope);

  template <typename Emit>
  void initial(Emit emit) const {
    emit(lock_world::state_of(World{}, scope_));
  }

  template <typename Emit>
  void successors(const State& state, Emit emit) const {
    next_.clear();
    steps(lock_world::unpack(state, scope_), next_);
    for (const auto& [world, action] : next_) emit(lock_world::state_of(world, scope_), action);
  }

  /// One step of a path, so many ticks after its begin.
  struct Taken {
    int tick;
    World from;
    Action action;
    World to;
  };

  [[nodiscard]] Judgement judge(const State& state) const;
  /// The steps of a path, with the clients' original names, because sorting exchanges them.
  [[nodiscard]] std::vector<Taken> way(const std::vector<State>& path) const;
  /// The same in words.
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const;

  /// Every step that this world can take, with the world after it, clients keeping their names.
  void steps(const World& world, Out& out) const;
  /// The arrows of the diagrams that the steps so far have taken, by their names.
  [[nodiscard]] std::vector<std::string> arrows_taken() const { return arrows_.names(); }

 private:
  using Client = lock_world::Client;
  using Message = lock_world::Message;
  using Byte = lock_world::Byte;

  void world_steps(const World& w, Out& out) const;
  void client_steps(const World& w, int i, Out& out) const;
  void caller_steps(const World& w, int i, int k, Out& out) const;
  void holder_steps(const World& w, int i, int k, Out& out) const;
  void hand_over_steps(const World& w, int i, Out& out) const;
  void queue_steps(const World& w, int i, Out& out) const;
  void message_steps(const World& w, int i, int k, Out& out) const;
  void request_steps(const World& w, int i, int k, Out& out) const;
  void stale_steps(const World& w, int i, int k, Out& out) const;

  const Scope scope_;
  // The const functions use these; they are no part of the model.
  mutable arrow::Log arrows_;
  mutable Out next_;  ///< the steps of the last state
  const LockServer server_{scope_, arrows_};
  const LockClients clients_{scope_, arrows_};
};

}  // namespace leasehold::model
