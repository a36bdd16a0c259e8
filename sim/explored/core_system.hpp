#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/provider_core.hpp"
#include "model/explorer.hpp"
#include "sim/virtual/collection.hpp"

/// The production core in small scope, for model::Explorer: two providers, one lock, every order of
/// what can happen to them. The core, the adapter's command bytes and its reading of replies are
/// the very code of production; the server is the virtual world's evaluator. Time goes in ticks.
///
/// An actor, a document or a message is kept once and named by its number (as Spin's collapse
/// compression does), so that states are small and are still compared whole.
namespace leasehold::sim::explored {

using simulated::Document;

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
  using State = model::PackedState<6>;
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
  // Two in each of the last three words of a state. A scope that needs more ends with an exception,
  // and not with a verdict on half of it.
  static constexpr std::size_t kMaxMessages = 6;
  static constexpr std::uint32_t kNoMessage = 0;  ///< numbers in a state are one more
  /// A process: its provider's core, the timers and replies that it waits for, and its caller.
  ///
  /// INVARIANT: equal actors do the same from here on. So all that the core's future depends on is
  /// in here and compared, and what can have no effect any more is taken out (`tidy_up`).
  struct Actor {
    core::ProviderCore core{""};
    // How many numbers it has drawn. Part of the state: the next owner depends on it.
    std::uint64_t drawn = 0;
    std::map<core::Timer, core::LocalInstant> timers;
    std::map<core::CommandId, core::SessionId> awaited;  ///< of attempts their call, else 0
    std::string_view life;                               ///< state of the lifecycle table
    core::SessionId session = 0;
    core::Owner owner;
    core::LocalInstant deadline;  ///< until when held() is true, or was when it crashed
    int asks_left = 0;
    unsigned waits_since = 0;  ///< the tick of its call
    bool holds = false, paused = false, crashed = false;
    bool operator==(const Actor&) const = default;
  };
  /// A request on its way or inside the server, or a reply on its way back.
  ///
  /// INVARIANT: with a `reply` it is on its way back, and never `fresh`.
  struct Message {
    unsigned who = 0;
    std::shared_ptr<const core::Command> command;
    std::optional<core::Reply> reply = {};
    bool fresh = false;                           ///< sent just now: it goes on before all else
    std::optional<std::int64_t> started_ms = {};  ///< inside: $$NOW
    std::uint64_t started_at = 0;                 ///< inside: the oplog's length
    bool operator==(const Message& other) const;
  };
  /// A state, unpacked.
  ///
  /// INVARIANT: each number fits the bits that `pack` gives it.
  struct World {
    std::array<std::uint32_t, 2> actors{};
    std::uint32_t document = 0;
    // `writes`: the oplog's length, and so the counter of the next operation time. `granted`: the
    // highest token that was granted. `ahead`: in ticks. `broken`: the first property that failed.
    // Document 0 is none.
    unsigned tick = 0, writes = 1, granted = 0, ahead = 0, broken = 0;
    // The ticks of the last fault and of the last write: the bound of G7 counts from them.
    unsigned fault_at = 0, written_at = 0;
    unsigned faults = 0;  ///< bits
    // A fixed array: a state is unpacked for each of its steps, millions of times.
    struct Messages {
      std::array<std::uint32_t, kMaxMessages> numbers{};
      std::size_t count = 0;
      [[nodiscard]] std::size_t size() const { return count; }
      std::uint32_t& operator[](std::size_t i) { return numbers[i]; }
      std::uint32_t operator[](std::size_t i) const { return numbers[i]; }
      void push_back(std::uint32_t number) {
        if (count == kMaxMessages) throw std::length_error("too many messages in flight");
        numbers[count++] = number;
      }
      void take_out(std::size_t i) {
        std::copy(numbers.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  numbers.begin() + static_cast<std::ptrdiff_t>(count),
                  numbers.begin() + static_cast<std::ptrdiff_t>(i));
        numbers[--count] = kNoMessage;
      }
    } messages;
  };

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

  // INVARIANT: a value is in it once, and never changes or moves: its number is its identity. The
  // hash only finds candidates; values are compared whole.
  template <typename T>
  class Pool {
   public:
    std::uint32_t keep(T value, std::size_t hash);
    const T& operator[](std::uint32_t i) const { return *values_[i]; }

   private:
    std::vector<std::unique_ptr<const T>> values_;
    std::unordered_multimap<std::size_t, std::uint32_t> index_;
  };
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
  [[nodiscard]] std::uint32_t keep(Actor actor) const;
  [[nodiscard]] std::uint32_t keep(Message message) const;
  [[nodiscard]] std::uint32_t keep(const Document& document) const;
  [[nodiscard]] const Actor& actor(const World& w, unsigned who) const;
  [[nodiscard]] State pack(const World& w) const;
  [[nodiscard]] World unpack(const State& state) const;

  const CoreScope scope_;
  LockOptions options_;
  // A model's steps are asked of a constant model; what they keep is not part of it.
  mutable Pool<Actor> actors_;
  mutable Pool<Message> messages_;
  mutable std::vector<Document> documents_;
  // The bytes are what a server would store, so types and the order of fields count.
  mutable std::map<std::string, std::uint32_t> document_numbers_;  ///< by their bytes
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
