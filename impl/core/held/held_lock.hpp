#pragma once

#include <set>
#include <string>
#include <tuple>

#include "core/protocol.hpp"

namespace leasehold::core {

/// A lock that this provider holds, or has lost but not yet released. Several sessions that read
/// may share it: for servers they are one reader, with one token and one deadline, which one
/// extension moves on for them all. It is lost for them all, and released by each.
///
/// INVARIANT: name, options, owner, token, acquired_at and ends_at are the grant's and never
/// change. `deadline` only ever moves on, and not beyond `ends_at`; once lost, nothing changes any
/// more but `command` and `sessions`.
/// INVARIANT: `sessions` are all that have not released it, at least one: its owner leaves the
/// database when the last of them does, and not before.
struct HeldLock {
  std::string name;
  LockOptions options;
  Owner owner;
  FencingToken token;         ///< of the write that won
  ServerInstant acquired_at;  ///< with the owner, it names this grant to the server
  Room room = 0;              ///< with whom it is shared
  int slot = 0;               ///< of a permit
  SessionId won_by = 0;       ///< by this number its timers, its commands and the queue know it
  std::set<SessionId> sessions;
  LocalInstant won_at;        ///< when the command was sent that won
  LocalInstant deadline;      ///< held() is false after it
  LocalInstant sent;          ///< when the command was sent that the deadline counts from ...
  std::string lock_id;        ///< ... and what it wrote
  LocalInstant ends_at = LocalInstant::max();  ///< no extension moves the deadline beyond this
  LocalInstant extend_at;                      ///< when its next extension is due
  CommandId command = 0;       ///< the extension under way or the read that follows it, or 0
  bool lost = false;           ///< its holder was notified; only a release is left to come
  bool late_commands = false;  ///< an attempt of this owner was never answered: it may arrive yet
  int hand_overs = 0;          ///< in a row up to this holding
  SessionId downgrade = 0;     ///< the call that goes on with it once it is released

  /// From the sending of one extension to the next: up to a tenth below the option's, by chance of
  /// the owner. So processes that began together do not extend together for ever.
  [[nodiscard]] Duration cadence() const {
    const Duration whole = options.effective_cadence();
    constexpr std::uint64_t kSteps = 1'000;
    return whole - whole / 10 * static_cast<std::int64_t>(owner.low % kSteps) / kSteps;
  }

  /// Whether a call with these options that reads may share it from now on. What its session would
  /// have by an entry of its own it has by this one: the same lease, counted from a little before,
  /// the same extensions, and a release that takes no longer.
  [[nodiscard]] bool may_be_shared_by(const LockOptions& other, LocalInstant now) const {
    const auto kept = [](const LockOptions& o) {
      return std::tuple(o.expiry, o.clock_margin, o.max_drift, o.effective_cadence(),
                        o.effective_operation_timeout());
    };
    return room == kReaders && !lost && now < deadline && !options.max_holding &&
           !other.max_holding && kept(options) == kept(other);
  }

  /// Whether a release may hand it over instead of deleting it. After an attempt that was never
  /// answered the owner has to be deleted, and once more. And a hand-over leaves other processes no
  /// gap to win in; so their turn comes after `hand_overs_in_a_row`. A reader may be one of many,
  /// and what it leaves is not its own to give.
  [[nodiscard]] bool may_be_handed_over() const {
    return room == 0 && !lost && !late_commands && hand_overs < options.hand_overs_in_a_row;
  }
  /// Whether this process has had it as often in a row as it may: then other processes are next.
  [[nodiscard]] bool had_its_turns() const {
    return hand_overs > 0 && hand_overs >= options.hand_overs_in_a_row;
  }
};

}  // namespace leasehold::core
