#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "model/abstract/lock_rules.hpp"
#include "model/explore/explorer.hpp"

/// One state of the lock in small scope, and the bounds of the scope.
///
/// Time runs in ticks, without end: only distances from now are kept, and all that is long past
/// counts alike. Only the order of tokens matters; only the equality of owners and beats; and of
/// clients only what they did.
namespace leasehold::model {

/// The guarantees that an exploration can look at: a state shows neither that a document will be
/// gone, nor what a call costs.
inline constexpr CheckSet kExplored = kPromised.without({Check::G8, Check::G9});

/// The bounds and features. Acquisitions, crashes (the process starts anew), losses and passes of
/// the TTL monitor are either off or unbounded.
struct Scope {
  int clients = 2;
  int messages = 1;  ///< in flight, for each client; clients * messages is at most 4
  int clock_margin = 1;
  int skew = 1;  ///< by how much every second primary's clock, or a client's wall clock, is off
  bool failovers = true;  ///< from one primary to the other and back, without end
  bool crashes = true;
  bool ttl_passes = true;
  bool losses = true;          ///< of requests and replies
  /// Only messages that no client awaits any more are lost, for far fewer states. A waiting client
  /// cannot tell a lost message from a slow one, so a state that this leaves out breaks a guarantee
  /// only if the state with the message on its way does. Not for liveness.
  bool losses_late = false;
  bool late_starts = true;     ///< commands may wait in the server with the time of their start
  bool stale_primary = false;  ///< the old primary goes on for a while after a failover
  bool dotnet = false;         ///< the last client is one of the .NET package
  bool hand_overs = false;     ///< clients are calls of one process, which contend all the same
  int queue = 0;               ///< places in the lock document for waiting clients; at most 2
  Rules rules;
  /// The guarantees that are checked. Without G1, the half of G3 that depends on it is left out.
  CheckSet guarantees = kExplored;
};

[[nodiscard]] std::string describe(const Scope& scope);

namespace lock_world {

using Byte = std::uint8_t;

inline constexpr int kLease = 2;  ///< ticks
inline constexpr int kDrift = 1;  ///< how much a clock may run ahead within a lease, in ticks
inline constexpr int kMaxClients = 3;
inline constexpr int kMaxMessages = 2;
inline constexpr int kGenerations = 8;  ///< owners of one client that a world may name
inline constexpr int kOldest = 2;       ///< an age in ticks; older makes no difference
inline constexpr Byte kDue = 4;         ///< `until` of a document that expires now
inline constexpr int kMaxPlaces = 2;    ///< in the queue
inline constexpr int kPlace = 2;        ///< ticks for which an entry lives

constexpr Byte byte(int value) { return static_cast<Byte>(value); }

/// Owners are client * kGenerations + generation + 1; 0 is none.
constexpr int client_of(Byte owner) {
  return static_cast<int>((owner - 1u) / unsigned{kGenerations});
}
constexpr int generation_of(Byte owner) {
  return static_cast<int>((owner - 1u) % unsigned{kGenerations});
}

/// A waiting call, by the lockId that its renewal would have written.
struct Entry {
  Byte owner{}, beat{};
  Byte left{};  ///< ticks until it is dropped, by the primary's clock
  Byte age{};   ///< since the renewal was sent; known to its sender alone

  bool operator==(const Entry&) const = default;
};

/// The holder (0: there is none), its beat, its end by the primary's clock, and the waiting calls.
struct Document {
  Byte owner{}, beat{}, until{}, counter{};
  Entry waiting[kMaxPlaces];  ///< live ones, without gaps
};

/// What the change stream tells of a grant: the owner of the entry, and the place of the giver's
/// write.
struct Notice {
  Byte owner{};  ///< 0: there is none
  Byte age{};    ///< since the entry's renewal was sent
  Byte token{}, order{}, committed{};
};

enum Slot : Byte {
  kEmpty,
  kAcquire,
  kExtend,
  kDelete,
  kWon,
  kRefused,
  kExtended,
  kNoMatch,
  kGone,
  kHandOver,
  kRenewal  ///< an acquire that only keeps its place, where the rules make it so
};
constexpr bool is_reply(Byte slot) { return slot >= kWon && slot <= kGone; }
constexpr bool is_acquire(Byte slot) { return slot == kAcquire || slot == kRenewal; }

/// A request on its way or inside the server, or the reply to it.
struct Message {
  Byte slot{}, owner{};
  Byte beat{};  ///< where the rules make it a count or keep it
  /// Request: observed dead; refusal: the holder; hand-over and its clean-up: the giver.
  Byte seen_owner{}, seen_beat{};
  Byte token{}, order{};  ///< of the write; the order is the truth
  Byte age{};             ///< since it was sent; the oldest if no client awaits it
  Byte committed{};       ///< a majority has what the reply says
};

enum Phase : Byte { kIdle, kWaiting, kAttempting, kHeld, kReleasing };

struct Client {
  Byte phase{}, owner{};
  Byte awaited{};           ///< 1 + the slot of the message with an awaited reply; 0: none
  Byte lease{};             ///< ticks that it still counts on
  Byte due{};               ///< ticks that it may count on: of the lease that it last heard of
  Byte token{}, order{};    ///< while it holds
  Byte sight_owner{}, sight_beat{}, sight_age{};
  Byte doubtful{};   ///< the owner of an attempt of this call that was never answered
  Byte to_delete{};  ///< the owner that is to be cleaned up
  Byte giver{};      ///< the owner that gives it the lock, or is to be cleaned up as well
  Byte attempt_beat{};
  /// Age of what a grant's deadline counts from, where it is not its renewal.
  Byte counted = kOldest;
  Byte enlisted{};  ///< an attempt of this owner was refused, where that matters
  Notice notice;    ///< on its way; a later one takes the place of one that is lost
  Message message[kMaxMessages];

  [[nodiscard]] bool waits() const { return phase == kWaiting || phase == kAttempting; }
};

struct World {
  Byte second{};                      ///< the primary is the one with the clock that is ahead
  Byte since_failover = kOldest;      ///< the oldest if there was none
  Byte dirty{};                       ///< the last write is not yet a majority's
  Byte stale_runs{};
  Byte top_token{}, top_order{};  ///< of the latest grant that reached a client and the resource
  /// Beside a stale primary: the last grant's time by each primary's own count. A successor reuses
  /// the numbers that it has not seen.
  Byte clock{}, committed_clock{}, stale_clock{};
  Byte violation{};
  Document document, committed, stale;
  Client client[kMaxClients];
};

/// Whether it holds nothing and asks for nothing.
inline void end_holding(Client& c) {
  c.phase = kIdle;
  c.owner = c.lease = c.due = c.token = c.order = c.doubtful = c.attempt_beat = 0;
}

/// The place of this owner in the queue, or -1.
inline int place_of(const Document& d, Byte owner) {
  for (int p = 0; p < kMaxPlaces; ++p) {
    if (owner != 0 && d.waiting[p].owner == owner) return p;
  }
  return -1;
}
/// The entry at this place goes, and those behind it move up.
inline void remove_place(Document& d, int place) {
  for (int p = place; p + 1 < kMaxPlaces; ++p) d.waiting[p] = d.waiting[p + 1];
  d.waiting[kMaxPlaces - 1] = {};
}

using State = PackedState<4>;

[[nodiscard]] State pack(const World& world, const Scope& scope);
[[nodiscard]] World unpack(const State& state, const Scope& scope);

/// Worlds have the same state if they differ only in the order of clients or in irrelevant parts.
[[nodiscard]] State state_of(const World& world, const Scope& scope);
/// The world without all that makes no difference; the clients keep their names.
[[nodiscard]] World tidied(World world, const Scope& scope);
/// Whether the world is this state up to the names of clients. Sorting leaves ties.
[[nodiscard]] bool is_the_same(const World& world, const State& state, const Scope& scope);

/// Each grant's token is its place among the writes, so that one number says both. Beside a stale
/// primary it is the count of the primary that wrote it.
[[nodiscard]] bool tokens_are_orders(const Scope& scope);

/// One tick later.
void age(World& world, const Scope& scope);

/// A generation that nothing of this client uses; 0 when all are in use.
[[nodiscard]] Byte fresh_owner(const World& world, int client, const Scope& scope);

/// Whether this client is the .NET package's.
[[nodiscard]] inline bool is_package(const Scope& scope, int client) {
  return scope.dotnet && client == scope.clients - 1;
}

/// The rules of one client: the .NET package's for the last one, where the scope has it.
[[nodiscard]] const Rules& package_rules();
[[nodiscard]] inline const Rules& rules_for(const Scope& scope, int client) {
  return is_package(scope, client) ? package_rules() : scope.rules;
}

}  // namespace lock_world
}  // namespace leasehold::model
