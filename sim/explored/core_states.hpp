#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/provider_core.hpp"
#include "model/diagrams/transition_table.hpp"
#include "model/explore/explorer.hpp"
#include "sim/virtual/commands/collection.hpp"

/// The states of the production core in small scope: what a state consists of, and how it is kept
/// in six words. No step is decided here.
namespace leasehold::sim::explored {

using simulated::Document;

// Two in each of the last three words of a state. A scope that needs more ends with an exception,
// because a verdict on half of it would be wrong.
inline constexpr std::size_t kMaxMessages = 6;
inline constexpr std::uint32_t kNoMessage = 0;  ///< numbers in a state are one more

inline constexpr std::size_t kLocks = 2;         ///< at most, in a scope
inline constexpr std::size_t kUsers = 2;         ///< of a process, at most
using Documents = std::array<Document, kLocks>;  ///< all that the collection has

/// Makes acquire calls, one after another, and holds what they win.
struct User {
  std::string_view life = model::kOutside;  ///< state of the lifecycle table
  core::SessionId session = 0;              ///< of its latest call
  core::Owner owner;
  core::LocalInstant deadline;  ///< the end of held(), also after a crash
  int asks_left = 0;
  unsigned waits_since = 0;  ///< the tick of its call
  bool holds = false;
  bool hands_over = false;  ///< its release gives the lock to the other user of its process
  [[nodiscard]] bool asks() const { return life == "Waiting" || life == "Acquiring"; }
  bool operator==(const User&) const = default;
};
/// A process: its provider's core, the timers and replies that it waits for, and its users.
///
/// INVARIANT: equal actors do the same from here on. So all that the core's future depends on is in
/// here and is compared, and `tidy_up` takes out what can have no effect any more.
struct Actor {
  /// The call that asks, for attempts and hand-overs; else 0.
  struct Awaited {
    core::SessionId session = 0;
    bool hand_over = false;
    bool operator==(const Awaited&) const = default;
  };

  // Without a bound on slots, because each order of waiting commands would be a state of its own. A
  // later send equals a later execution by the servers, which is explored.
  core::ProviderCore core{""};
  // How many numbers it has drawn. Part of the state: the next owner depends on it.
  std::uint64_t drawn = 0;
  core::SessionId sessions = 0;  ///< the latest that one of its users has
  std::map<core::Timer, core::LocalInstant> timers;
  std::map<core::CommandId, Awaited> awaited;
  std::array<User, kUsers> users;
  bool paused = false, crashed = false;
  /// None of its users has a call or a handle.
  [[nodiscard]] bool is_outside() const {
    return std::all_of(users.begin(), users.end(),
                       [](const User& u) { return u.life == model::kOutside; });
  }
  bool operator==(const Actor&) const = default;
};
/// A request on its way or inside the server, or a reply on its way back.
///
/// INVARIANT: with a `reply` it is on its way back, and never `fresh`.
struct Message {
  unsigned process = 0;
  std::shared_ptr<const core::Command> command;
  std::optional<core::Reply> reply = {};
  bool fresh = false;                           ///< sent just now: it goes on first
  std::optional<std::int64_t> started_ms = {};  ///< inside: $$NOW
  std::uint64_t started_at = 0;                 ///< inside: the oplog's length
  bool operator==(const Message& other) const;
};
/// A state, unpacked.
///
/// INVARIANT: each number fits the bits that `pack` gives it.
struct World {
  std::array<std::uint32_t, 2> actors{};
  // What a majority has. In scopes with old primaries also what it had before its last write, and
  // how long the oplog was then.
  std::uint32_t documents = 0, before = 0;
  unsigned before_writes = 0;
  // `writes`: the oplog's length, and so the counter of the next operation time. `ahead`: in ticks.
  // `broken`: the first property that failed. Documents 0 are none.
  unsigned tick = 0, writes = 1, ahead = 0, broken = 0;
  std::array<unsigned, kLocks> granted{};  ///< the highest granted token of each lock
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

/// What a step did, so that the same step of another state need not be made again. Keys are whole
/// and no hashes, so a collision costs time only.
struct KeyHash {
  std::size_t operator()(const std::array<std::uint64_t, 2>& key) const {
    return (key[0] * 0x9E3779B97F4A7C15u ^ key[1]) * 0xFF51AFD7ED558CCDu;
  }
};
template <typename T>
using Memo = std::unordered_map<std::array<std::uint64_t, 2>, T, KeyHash>;

/// Values, each with a number.
///
/// INVARIANT: a value is in it once, and never changes or moves: its number is its identity. The
/// hash only finds candidates; values are compared whole.
template <typename T>
/// Nothing is ever taken out, because a state that was seen once may be met again at any time.
class Pool {
 public:
  std::uint32_t keep(T value, std::size_t hash);
  const T& operator[](std::uint32_t i) const { return *values_[i]; }

 private:
  std::vector<std::unique_ptr<const T>> values_;
  std::unordered_multimap<std::size_t, std::uint32_t> index_;
};

/// An actor, a document or a message is kept once and named by its number, so that states are small
/// and are still compared whole.
///
/// Numbers depend on the order in which values were first met. So words of two of these objects
/// cannot be compared, and an exploration keeps one object to its end.
///
/// Thread safety: none.
class CoreStates {
 public:
  using Words = model::PackedState<6>;

  std::uint32_t keep(Actor actor);
  std::uint32_t keep(Message message);
  std::uint32_t keep(const Documents& documents);
  [[nodiscard]] const Actor& actor(const World& w, unsigned process) const {
    return actors_[w.actors[process]];
  }
  /// REQUIRES: `keep` gave this number.
  [[nodiscard]] const Message& message(std::uint32_t number) const { return messages_[number - 1]; }
  [[nodiscard]] const Documents& documents(std::uint32_t number) const {
    return documents_[number];
  }

  /// Equal worlds have equal words, whatever the order of their messages.
  [[nodiscard]] static Words pack(const World& w);
  [[nodiscard]] static World unpack(const Words& words);

 private:
  Pool<Actor> actors_;
  Pool<Message> messages_;
  std::vector<Documents> documents_;
  // The bytes are what a server would store, so types and the order of fields count.
  std::map<std::string, std::uint32_t> document_numbers_;  ///< by their bytes
};

}  // namespace leasehold::sim::explored
