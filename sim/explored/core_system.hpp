#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/explored/core_judge.hpp"
#include "sim/explored/core_scope.hpp"
#include "sim/explored/core_server.hpp"
#include "sim/explored/core_states.hpp"

/// The production core in small scope, for model::Explorer: two providers, a lock or two, every
/// order of what can happen to them. The core, the adapter's command bytes and its reading of
/// replies are the production code; the server is the virtual world's evaluator. Time goes in
/// ticks.
namespace leasehold::sim::explored {

/// A step is one event that one actor sees, with everything that the core does at once. Requests
/// that it sends go on in the very next step, so two such requests interleave with nothing unless a
/// fault says so. That keeps the number of states small enough.
///
/// Only the choice of the step is open: owners are counted and not random, and pauses have one
/// length. Numbers of actors, messages and documents depend on the order of the search, so states
/// of two explorers cannot be compared.
///
/// Thread safety: none, also of the const functions, which fill tables.
class CoreSystem {
 public:
  using State = CoreStates::Words;
  struct Action {
    std::uint8_t step = 0, process = 0;
  };

  explicit CoreSystem(const CoreScope& scope);
  CoreSystem(const CoreSystem&) = delete;  // its parts refer to each other
  CoreSystem& operator=(const CoreSystem&) = delete;

  template <typename Emit>
  void initial(Emit emit) const {
    emit(first());
  }
  // Not to be called from within `emit`, because the steps found are kept in one place.
  template <typename Emit>
  void successors(const State& from, Emit emit) const {
    steps(from);
    for (std::size_t i = 0; i < found_.size(); ++i) emit(found_[i].to, found_[i].action);
  }
  // What was reached is of all states so far, not of this one, because the explorer joins them.
  [[nodiscard]] model::Judgement judge(const State& state) const;
  /// REQUIRES: this object found the path, because the states hold its numbers.
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const;

  /// What happened somewhere at least once, for the vacuity check: names in the order of bits.
  static const std::vector<std::string>& seen_events();

 private:
  /// What one event did to an actor.
  ///
  /// INVARIANT: it depends on the actor, the tick and the event alone, so it is computed once.
  struct Effect {
    std::uint32_t actor = 0;
    std::vector<std::uint32_t> sent;
    // Commands with replies that no call waits for any more.
    std::vector<core::CommandId> abandoned;
    std::array<std::int64_t, kLocks> tokens{};  ///< granted with it, or 0
    unsigned broken = 0;
  };

  class Reaction;

  // Without the text, except on a story's path, because the text costs more than the step.
  struct Found {
    State to;
    Action action;
    std::string text;
  };

  [[nodiscard]] State first() const;
  void steps(const State& from) const;
  void actor_steps(const World& w, unsigned process) const;
  bool timer_step(const World& w, unsigned process) const;
  void user_steps(const World& w, unsigned process, std::size_t which) const;
  void actor_faults(const World& w, unsigned process) const;
  void cancel(const World& w, unsigned process, std::size_t which) const;
  void message_steps(const World& w, std::size_t at) const;
  void server_steps(const World& w) const;
  void execute(const World& w, std::size_t at, std::optional<CoreFault> fault) const;
  void write(World& to, const Message& by, const CoreServer::Execution& done) const;
  void store(World& to, std::uint32_t documents, unsigned writes) const;
  void answer(World& to, const Message& m, const CoreServer::Execution& done,
              std::optional<CoreFault> fault) const;
  void remove_expired(const World& w, std::size_t lock) const;
  void emit(World to, const char* step, unsigned process, const char* text) const;
  /// False: its kind has happened, is not in the scope, or the scope has no faults left. Then `w`
  /// is unchanged.
  bool spend(World& w, CoreFault fault) const;
  /// Gives the event to the actor; what it sends joins the messages.
  /// REQUIRES: `key` names the event among all of one actor: the kind in its low byte, its object
  /// above. Equal keys get the same effect, whatever the event says.
  const Effect& give(World& to, unsigned process, const core::Event& event,
                     std::uint64_t key) const;
  Effect react(const Actor& actor, unsigned process, unsigned tick, const core::Event& event) const;
  void drop_replies(World& w, unsigned process, std::optional<core::CommandId> command) const;
  [[nodiscard]] const Actor& actor(const World& w, unsigned process) const {
    return states_.actor(w, process);
  }

  const CoreScope scope_;
  LockOptions options_;
  // Mutable, because the explorer asks a constant model for steps; these tables are not part of it.
  mutable CoreStates states_;
  // Most steps repeat what another state's actor or request did: then core and BSON are spared.
  mutable Memo<Effect> effects_;
  mutable std::vector<Found> found_;
  mutable std::uint64_t seen_ = 0;
  mutable CoreServer server_;
  CoreJudge judge_;
  mutable bool telling_ = false;  ///< a story is written
};

}  // namespace leasehold::sim::explored
