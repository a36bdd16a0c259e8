#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/explored/core_states.hpp"

/// The production core in small scope, for model::Explorer: two providers, one lock, every order of
/// what can happen to them. The core, the adapter's command bytes and its reading of replies are
/// the very code of production; the server is the virtual world's evaluator. Time goes in ticks.
namespace leasehold::sim::explored {

/// What befalls the two, each at most once in a behaviour. Without one of them a command executes
/// and is answered at once: delays are bounded (as in delay-bounded scheduling), not times.
enum class CoreFault : unsigned {
  lost_request,  ///< never executed, never answered
  late,          ///< executes some time, perhaps when nobody waits for it any more
  lost_reply,    ///< executed, and nobody hears of it
  slow_reply,    ///< executed, and heard of some time before its command times out
  inside,        ///< as late, and its $$NOW is of when it was sent
  error_before,  ///< NotWritablePrimary, not executed
  error_after,   ///< executed, then a writeConcernError
  crash,
  pause,  ///< a process takes no step for as long as one likes
  clock,  ///< another member is primary, its clock a whole margin ahead
  cancel  ///< the caller gives up while it waits
};
inline constexpr unsigned kCoreFaults = 11;

/// INVARIANT: `ticks` fits six bits of a state.
struct CoreScope {
  unsigned ticks = 10;  ///< the behaviour ends then; a lease has 3
  unsigned faults = 2;  ///< of all kinds together
  // A clock that is ahead is so by one tick: a scope with that fault has this margin or more.
  unsigned margin_ticks = 1;          ///< the clock margin
  std::array<int, 2> acquires{1, 1};  ///< calls of each process, one after another
  unsigned kinds = (1u << kCoreFaults) - 1;
};

[[nodiscard]] std::string describe(const CoreScope& scope);

/// A changed number of states is a changed behaviour of the core, wanted or not.
struct NamedCoreScope {
  std::string_view name;
  CoreScope scope;
  std::uint64_t states;  ///< of the production core, pinned
};
/// The scopes that are explored to their end.
[[nodiscard]] const std::vector<NamedCoreScope>& core_scopes();

/// A step is one event that one actor sees, with everything that the core does at once; requests
/// that it sends go on in the very next step. So two such requests never interleave with anything
/// unless a fault says so, which is what keeps the number of states within reach.
///
/// Deterministic in everything but the choice of the step: owners are counted and not random, and
/// pauses have one length. Numbers of actors, messages and documents depend on the order of the
/// search, so states of two explorers cannot be compared.
///
/// Thread safety: none, also of the const functions, which fill tables.
class CoreSystem {
 public:
  using State = CoreStates::Words;
  struct Action {
    std::uint8_t step = 0, who = 0;
  };

  explicit CoreSystem(const CoreScope& scope);

  template <typename Emit>
  void initial(Emit emit) const {
    emit(first());
  }
  // Not to be called from within `emit`: the steps found are kept in one place.
  template <typename Emit>
  void successors(const State& from, Emit emit) const {
    steps(from);
    for (std::size_t i = 0; i < found_.size(); ++i) emit(found_[i].to, found_[i].action);
  }
  // What was reached is of all states so far, not of this one: the explorer joins them anyway.
  [[nodiscard]] model::Judgement judge(const State& state) const;
  /// REQUIRES: the path was found by this object, whose numbers the states hold.
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const;

  /// What happened somewhere at least once, for the vacuity check: names in the order of the bits.
  static const std::vector<std::string>& seen_events();

 private:
  /// What one event did to an actor.
  ///
  /// INVARIANT: it depends on the actor, the tick and the event alone, so it is computed once.
  struct Effect {
    std::uint32_t actor = 0;
    std::vector<std::uint32_t> sent;
    // Commands whose replies nobody waits for any more.
    std::vector<core::CommandId> abandoned;
    std::int64_t token = 0;  ///< granted with it, or 0
    unsigned broken = 0;
  };
  /// What executing a request did.
  ///
  /// INVARIANT: it depends on the request, the document, the server's clock and the oplog's length.
  struct Execution {
    std::uint32_t document = 0;
    bool wrote = false;
    core::Reply reply;
  };

  class Reaction;

  // `text` is empty but for a story: to write it for each step would cost more than the step.
  struct Found {
    State to;
    Action action;
    std::string text;
  };

  [[nodiscard]] State first() const;
  void steps(const State& from) const;
  void actor_steps(const World& w, unsigned who) const;
  bool timer_step(const World& w, unsigned who) const;
  void user_steps(const World& w, unsigned who) const;
  void actor_faults(const World& w, unsigned who) const;
  void message_steps(const World& w, std::size_t at) const;
  void server_steps(const World& w) const;
  const Execution& execution_of(const World& w, std::uint32_t number,
                                std::optional<CoreFault> fault) const;
  void execute(const World& w, std::size_t at, std::optional<CoreFault> fault) const;
  void judge_write(World& to, const Message& by, const Execution& done, std::uint32_t before) const;
  void judge_tick(World& to) const;
  void emit(World to, const char* step, unsigned who, const char* text) const;
  /// False: its kind has happened, is not in the scope, or there were enough. Then `w` is
  /// unchanged.
  bool spend(World& w, CoreFault fault) const;
  /// Gives the event to the actor; what it sends joins the messages.
  /// REQUIRES: `key` names the event among all of one actor: its low byte the kind, above it what
  /// it is of. Equal keys get the same effect, whatever the event says.
  const Effect& give(World& to, unsigned who, const core::Event& event, std::uint64_t key) const;
  Effect react(const Actor& actor, unsigned who, unsigned tick, const core::Event& event) const;
  void drop_replies(World& w, unsigned who, std::optional<core::CommandId> command) const;
  /// The primary's wall clock, since 1970.
  [[nodiscard]] static std::int64_t server_ms(const World& w);
  [[nodiscard]] const Actor& actor(const World& w, unsigned who) const {
    return states_.actor(w, who);
  }

  const CoreScope scope_;
  LockOptions options_;
  // A model's steps are asked of a constant model; what they keep is not part of it.
  mutable CoreStates states_;
  // Keys are whole, not hashes, so a collision costs time only.
  struct KeyHash {
    std::size_t operator()(const std::array<std::uint64_t, 2>& key) const {
      return (key[0] * 0x9E3779B97F4A7C15u ^ key[1]) * 0xFF51AFD7ED558CCDu;
    }
  };
  template <typename T>
  using Memo = std::unordered_map<std::array<std::uint64_t, 2>, T, KeyHash>;
  // Most steps repeat what another state's actor or request did: these spare the core and the BSON.
  mutable Memo<Effect> effects_;
  mutable Memo<Execution> executions_;
  mutable std::vector<Found> found_;
  mutable std::uint64_t seen_ = 0;
  mutable bool telling_ = false;
};

}  // namespace leasehold::sim::explored
