#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "model/containers/enum_set.hpp"
#include "model/spec/lock_rules.hpp"

/// The lock in small scope, as a transition system: clients, one document, messages that are late
/// or lost, a primary and its successor, an old primary that does not know of it, clocks that are
/// off, the TTL monitor, and a fenced resource that sees each grant when its holder does.
///
///     for (const LockAction action : actions(world, scope)) step(world, action, scope, labels);
///
/// A paused client takes no step; any client may pause at any time for any time. The worst effect
/// of drift is built in: each side keeps a margin of one tick against it, and the tick is lost.
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
  bool losses = true;  ///< of requests and replies
  /// Only messages that no client awaits any more are lost, for far fewer states. A waiting client
  /// cannot tell a lost message from a slow one, so a state that this leaves out breaks a guarantee
  /// only if the state with the message on its way does. Not for liveness.
  bool losses_late = false;
  bool late_starts = true;     ///< commands may wait in the server with the time of their start
  bool stale_primary = false;  ///< the old primary goes on for a while after a failover
  bool time_outs = true;       ///< of calls, and of the wait for a reply
  bool dotnet = false;         ///< the last client is one of the .NET package
  bool older = false;          ///< the last client writes, and is of a release without readers
  int readers = 0;             ///< so many of the clients only read, the first ones
  bool permits = false;        ///< they do not read, and have two permits instead
  bool hand_overs = false;     ///< clients are calls of one process, which contend nevertheless
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
inline constexpr int kGenerations = 5;  ///< owners of one client that a world may name
inline constexpr int kOldest = 2;       ///< an age in ticks; older makes no difference
inline constexpr Byte kDue = 4;         ///< `until` of a document that expires now
inline constexpr int kMaxPlaces = 2;    ///< in the queue
inline constexpr int kPlace = 2;        ///< ticks for which an entry lives
inline constexpr Byte kUnbounded = 9;   ///< how many may come before an entry whose order was lost

constexpr Byte byte(int value) { return static_cast<Byte>(value); }

/// Owners are client * kGenerations + generation + 1; 0 is none.
constexpr int client_of(Byte owner) { return (owner - 1) / kGenerations; }

/// A waiting call, by the lockId that its renewal would have written.
struct Entry {
  Byte owner{}, beat{};
  Byte left{};  ///< ticks until it is dropped, by the primary's clock
  Byte age{};   ///< since the renewal was sent; known to its sender alone
  auto operator<=>(const Entry&) const = default;
};

/// One of the readers that share the lock: its owner, and its end by the primary's clock.
struct Reader {
  Byte owner{}, until{};
  auto operator<=>(const Reader&) const = default;
};

/// The holder (0: there is none), its beat, its end by the primary's clock, and the waiting calls.
/// If readers share it, the holder is the first; beat and end are those of their common text.
struct Document {
  Byte owner{}, beat{}, until{}, counter{};
  Byte own_until{};           ///< of a holder that reads; else 0
  Reader other;               ///< who shares the lock with it
  Entry waiting[kMaxPlaces];  ///< live ones, without gaps
  auto operator<=>(const Document&) const = default;

  [[nodiscard]] bool is_held_by(Byte of) const {
    return of != 0 && (of == owner || of == other.owner);
  }
  /// How many readers share it; 0: none, or a writer holds it.
  [[nodiscard]] int readers() const { return own_until == 0 ? 0 : other.owner == 0 ? 1 : 2; }
  /// The end of this holder.
  [[nodiscard]] Byte until_of(Byte of) const {
    return own_until == 0 ? until : of == owner ? own_until : other.until;
  }
  /// Ends the holding of this owner. The other reader is the first then.
  void remove_holder(Byte of) {
    if (of != owner && of != other.owner) return;
    if (of == owner) owner = other.owner, own_until = other.until;
    other = {};
  }
  /// The place of this owner in the queue, or -1.
  [[nodiscard]] int place_of(Byte of) const {
    return of == 0 ? -1 : waiting[0].owner == of ? 0 : waiting[1].owner == of ? 1 : -1;
  }
  /// The entry at this place goes, and the one behind it moves up.
  void remove_place(int place) {
    if (place == 0) waiting[0] = waiting[1];
    waiting[1] = {};
  }
};

/// What the change stream tells of a grant: the owner of the entry, and the place of the giver's
/// write.
struct Notice {
  Byte owner{};  ///< 0: there is none
  Byte age{};    ///< since the entry's renewal was sent
  Byte token{}, order{}, committed{};
  auto operator<=>(const Notice&) const = default;
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

/// A request on its way or inside the server, or the reply to it.
struct Message {
  Byte slot{}, owner{};
  Byte beat{};  ///< where the rules make it a count or keep it
  /// Request: observed dead; refusal: the holder; hand-over and its clean-up: the giver.
  Byte seen_owner{}, seen_beat{};
  Byte token{}, order{};  ///< of the write; the order is the truth
  Byte age{};             ///< since it was sent; the oldest if no client awaits it
  Byte committed{};       ///< a majority has what the reply says
  auto operator<=>(const Message&) const = default;

  [[nodiscard]] bool is_reply() const { return slot >= kWon && slot <= kGone; }
  [[nodiscard]] bool is_acquire() const { return slot == kAcquire || slot == kRenewal; }
};

enum Phase : Byte { kIdle, kWaiting, kAttempting, kHeld, kReleasing };

/// A client decides by the messages that it received and by its own clock. It never sees the
/// document.
struct Client {
  Byte phase{}, owner{};
  Byte awaited{};         ///< 1 + the slot of the message with an awaited reply; 0: none
  Byte lease{};           ///< ticks that it still counts on
  Byte due{};             ///< ticks that it may count on: of the lease that it last learned of
  Byte token{}, order{};  ///< while it holds
  Byte sight_owner{}, sight_beat{}, sight_age{};
  Byte doubtful{};   ///< the owner of an attempt of this call that was never answered
  Byte to_delete{};  ///< the owner that is to be cleaned up
  Byte giver{};      ///< the owner that gives it the lock, or is to be cleaned up as well
  Byte attempt_beat{};
  Byte counted = kOldest;  ///< age of what a grant's deadline counts from, if not its renewal
  Byte enlisted{};         ///< an attempt of this owner was refused, where that matters
  Notice notice;           ///< on its way; a later one takes the place of one that is lost
  Message message[kMaxMessages];
  auto operator<=>(const Client&) const = default;

  [[nodiscard]] bool waits() const { return phase == kWaiting || phase == kAttempting; }
};

/// A document that is `dirty` differs from `committed`, which a failover restores. Each number
/// of a canonical world is below 16.
struct World {
  Byte second{};                  ///< the primary is the one with the clock that is ahead
  Byte since_failover = kOldest;  ///< the oldest if there was none
  Byte dirty{};                   ///< the last write is not yet a majority's
  Byte stale_runs{};
  Byte top_token{}, top_order{};  ///< of the latest grant that reached a client and the resource
  Byte wrote_token{}, wrote_order{};  ///< the same of writers alone, where there are readers
  /// Beside a stale primary: the last grant's time by each primary's own count. A successor reuses
  /// the numbers that it has not seen.
  Byte clock{}, committed_clock{}, stale_clock{};
  Byte violation{};
  /// For each place of the queue: how many grants to others may come before its own.
  Byte patience[kMaxPlaces]{};
  Document document, committed, stale;
  Client client[kMaxClients];
  auto operator<=>(const World&) const = default;
};

/// Calls f for every place that names an owner.
template <typename W, typename F>
void each_owner(W& w, F f) {
  for (auto* d : {&w.document, &w.committed, &w.stale}) {
    f(d->owner), f(d->other.owner);
    for (auto& entry : d->waiting) f(entry.owner);
  }
  for (auto& c : w.client) {
    f(c.owner), f(c.doubtful), f(c.to_delete), f(c.sight_owner), f(c.giver), f(c.notice.owner);
    for (auto& m : c.message) f(m.owner), f(m.seen_owner);
  }
}

/// Calls f for every token, or for every place of a write among all writes.
template <typename W, typename F>
void each_token(W& w, F f) {
  f(w.top_token), f(w.wrote_token), f(w.clock), f(w.committed_clock), f(w.stale_clock);
  for (auto& c : w.client) {
    f(c.token), f(c.notice.token);
    for (auto& m : c.message) f(m.token);
  }
}
template <typename C, typename F>
void each_order_of(C& client, F f) {
  f(client.order), f(client.notice.order);
  for (auto& m : client.message) f(m.order);
}
template <typename W, typename F>
void each_order(W& w, F f) {
  f(w.top_order), f(w.wrote_order);
  for (auto& c : w.client) each_order_of(c, f);
}

/// Whether this client is the .NET package's, whether it is of an older release, whether it reads,
/// and its rules.
[[nodiscard]] bool is_package(const Scope& scope, int client);
[[nodiscard]] bool is_older(const Scope& scope, int client);
[[nodiscard]] bool is_reader(const Scope& scope, int client);
[[nodiscard]] const Rules& rules_for(const Scope& scope, int client);

/// The entry at this place of the document's queue goes, with what is counted for it.
void remove_place(World& world, Document& document, int place);

/// Each grant's token is its place among the writes, so that one number says both. Beside a stale
/// primary it is the count of the primary that wrote it.
[[nodiscard]] bool tokens_are_orders(const Scope& scope);

/// The order of clients in a canonical world: client order[i] is in place i.
using Order = std::array<int, kMaxClients>;

/// One world for all that differ only in what makes no difference any more, or in the names of
/// clients: irrelevant parts dropped, clients sorted, owners, beats and tokens numbered anew.
[[nodiscard]] World canonical(World world, const Scope& scope, Order* order = nullptr);
/// The world with client order[i] in place i.
[[nodiscard]] World arranged(const World& world, const Order& order);

}  // namespace lock_world

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

/// What happens, and to which client and message.
struct LockAction {
  LockAct act;
  lock_world::Byte client = 0;
  lock_world::Byte slot = 0;
  lock_world::Byte waited = 0;  ///< ticks in the server before its execution; hand-over: receiver
  /// An execution says here whether the sender's wall clock is off; one by the old primary, which
  /// of its answers comes.
  lock_world::Byte choice = 0;
};

/// What a step does in the words of the published diagrams: each label is one or more of their
/// arrows, each by its state, which is one word, and its own label: of a handle's life, of the
/// flowchart, and of the document.
#define LEASEHOLD_LABELS(LABEL)                                                                   \
  LABEL(asks, "[*] Create Lock; Waiting Call AcquireAsync()", "A then; B then", "")               \
  LABEL(asks_again, "Waiting Call AcquireAsync()", "Q then; B then", "")                          \
  LABEL(refused, "Acquiring Lock Held by Others", "G then; P then", "")                           \
  LABEL(won, "Acquiring Successfully Acquired Lock", "M Yes; N then; R then", "")                 \
  LABEL(won_too_late, "Acquiring Won Too Late", "M Yes; N Won Too Late; P then", "")              \
  LABEL(acquire_unknown, "Acquiring Outcome Unknown", "B No Reply; P then", "")                   \
  LABEL(nothing_to_hand_over, "Acquiring Nothing To Hand Over", "B Nothing To Hand Over", "")     \
  LABEL(give_up_waiting, "Waiting Give Up", "P Give Up", "")                                      \
  LABEL(give_up_attempting, "Acquiring Give Up", "B Give Up", "")                                 \
  LABEL(extension_sent, "Acquired Background Extension Task", "", "Active Background Task")       \
  LABEL(extended, "Extending Extension Successful", "", "")                                       \
  LABEL(extension_unknown, "Extending Outcome Unknown", "", "")                                   \
  LABEL(extension_failed, "Extending Extension Failed; Lost HandleLostToken Signaled", "", "")    \
  LABEL(lease_ran_out, "Acquired Lease Ran Out; Lost HandleLostToken Signaled", "", "")           \
  LABEL(release, "Acquired Dispose Handle", "", "")                                               \
  LABEL(release_while_extending, "Extending Dispose Handle", "", "")                              \
  LABEL(release_lost, "Lost Dispose Handle", "", "")                                              \
  LABEL(hand_over, "Acquired Dispose Handle; Releasing Lock Handed Over; Released Lock Released", \
        "", "")                                                                                   \
  LABEL(found_held, "", "C Yes; D No", "")                                                        \
  LABEL(raced, "", "M No; O then", "")                                                            \
  LABEL(written, "", "H then; I then; J then; K then; L then", "")                                \
  LABEL(inserted, "", "C No; E then", "NonExistent Acquire Attempt")                              \
  LABEL(inserted_again, "", "C No; E then", "Deleted Acquire Attempt")                            \
  LABEL(taken_over, "", "C Yes; D Yes; F then", "Expired Other Process Acquires")                 \
  LABEL(own_retry, "", "C Yes; D Ours", "Active Own Retry")                                       \
  LABEL(own_retry_while_extending, "", "C Yes; D Ours", "Extending Own Retry")                    \
  LABEL(handed_over, "", "C Yes; D Handed Over; F then", "Active Handed Over")                    \
  LABEL(extension_in_time, "", "", "Extending Success")                                           \
  LABEL(extension_late, "", "", "Expired Late Renewal")                                           \
  LABEL(document_ran_out, "", "", "Active Lease Ran Out")                                         \
  LABEL(document_ran_out_extending, "", "", "Extending Failure")                                  \
  LABEL(deleted, "Releasing Lock Document Deleted; Released Lock Released",                       \
        "", "Active Release")                                                                     \
  LABEL(deleted_while_extending, "Releasing Lock Document Deleted; Released Lock Released",       \
        "", "Extending Release")                                                                  \
  LABEL(deleted_expired, "Releasing Lock Document Deleted; Released Lock Released",               \
        "", "Expired Release")                                                                    \
  LABEL(cleaned_by_ttl, "Waiting TTL Cleanup; Expired Stale Lock Cleaned Up",                     \
        "", "Expired TTL Cleanup")

#define ENUMERATOR_OF_LABEL(label, ...) label,
enum class Label : std::uint8_t { LEASEHOLD_LABELS(ENUMERATOR_OF_LABEL) };
using Labels = EnumSet<Label>;
/// The arrows of the diagrams that have these labels, by their names.
[[nodiscard]] std::set<std::string> arrows_of(const Labels& labels);

/// Everything that may happen in this world, always in the same order, so that the shortest
/// counterexamples are the same each time.
void actions(const lock_world::World& world, const Scope& scope, std::vector<LockAction>& out);
/// The world after it; clients keep their names. REQUIRES: the action may happen.
[[nodiscard]] lock_world::World step(lock_world::World world, LockAction action, const Scope& scope,
                                     Labels& labels);
/// The step in words.
[[nodiscard]] std::string tell(const Scope& scope, const lock_world::World& from, LockAction action,
                               const lock_world::World& to);

/// The guarantee that this world breaks, or null. Half of the guarantees concern single worlds. A
/// step that breaks one of the others (a lease is given away, a token does not rise) sets
/// `World::violation`.
[[nodiscard]] const char* broken_in(const lock_world::World& world, const Scope& scope);
/// Whether the fenced resource, which saw every grant, takes a write of this client.
[[nodiscard]] bool resource_takes(const lock_world::World& world, int client, const Scope& scope);

/// Situations that must occur somewhere: otherwise the guarantees would hold for a lock that does
/// nothing.
inline constexpr std::uint64_t kSomebodyHolds = 1, kHolderPastItsLease = 2,
                               kLaterGrantBeforeTheLeaseEnded = 4, kWriteMayBeRolledBack = 8,
                               kDeadHolderObserved = 16, kQueueHasAnEntry = 32,
                               kWaiterNotified = 64, kReadersShare = 128, kAllSituations = 255;
/// The bits of the situations that occur here.
[[nodiscard]] std::uint64_t reached_in(const lock_world::World& world, const Scope& scope);

}  // namespace leasehold::model
