#pragma once

#include <string>
#include <vector>

#include "model/lock_checks.hpp"
#include "model/lock_clients.hpp"
#include "model/lock_server.hpp"
#include "model/lock_step.hpp"

/// The lock in small scope: clients, one document, messages that are late or lost, a primary and
/// its successor, an old primary that does not know it, clocks that are off, the TTL monitor, a
/// fenced resource that sees each grant as soon as its holder does.
///
/// A paused client is one that takes no step, which any client may do at any time, as long as it
/// likes. The worst that drift may do is built in: each side keeps a margin of one tick against it,
/// and the tick is lost.
///
/// Thread safety: none, also of the const functions, which keep what they work with.
namespace leasehold::model {

/// Which steps a world can take. What a step does is `LockServer`'s and `LockClients`' part, what
/// has to hold in a world that of `lock_checks`.
///
/// INVARIANT: the steps of a world come in one order, whatever was explored before: shortest
/// counterexamples are the same ones each time.
class LockSystem {
 public:
  using State = lock_world::State;
  using World = lock_world::World;
  using Act = LockAct;
  using Action = LockAction;
  using Out = LockSteps;

  /// Throws std::invalid_argument for a scope whose states do not fit.
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

  /// One step of a path, by so many ticks after its begin.
  struct Taken {
    int tick;
    World from;
    Action action;
    World to;
  };

  [[nodiscard]] Judgement judge(const State& state) const;
  /// The steps of a path, with the clients' own names, which sorting exchanges.
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
  // What the steps of a constant model keep is no part of it.
  mutable arrow::Log arrows_;
  mutable Out next_;  ///< of the state that was asked for last
  const LockServer server_{scope_, arrows_};
  const LockClients clients_{scope_, arrows_};
};

}  // namespace leasehold::model
