#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/explored/core_terms.hpp"

/// What an exploration of the production core is of.
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
  error_after,   ///< executed, then a writeConcernError; in odd ticks an error of its own
  crash,
  pause,  ///< a process takes no step for as long as one likes
  clock,  ///< another member is primary, its clock a whole margin ahead
  cancel,       ///< the caller gives up while it waits
  rolled_back,  ///< executed by a primary that steps down before a majority has the write
  old_primary   ///< executed by one that was cut off before the last write, and does not know it
};
inline constexpr unsigned kCoreFaults = 13;
[[nodiscard]] const char* name_of(CoreFault fault);
/// Those that hit each scope unless it says otherwise: all that need no second branch of the data.
inline constexpr unsigned kOfOneBranch = (1u << 11) - 1;

/// INVARIANT: `ticks` fits six bits of a state.
struct CoreScope {
  unsigned ticks = 10;  ///< the behaviour ends then; a lease has 3
  unsigned faults = 2;  ///< of all kinds together
  // A clock that is ahead is so by one tick: a scope with that fault has this margin or more.
  unsigned margin_ticks = 1;          ///< the clock margin
  std::array<int, 2> acquires{1, 1};  ///< calls of each user of a process, one after another
  unsigned kinds = kOfOneBranch;
  // More than one makes a process's own queue, hand-overs, and batches if they want two locks.
  std::array<unsigned, 2> users{1, 1};      ///< of each process, who ask at the same time
  bool two_locks = false;                   ///< the second user of a process wants another lock
  bool queue = false;                       ///< who waits stands in the lock's queue
  // As far apart as `max_drift` allows, so that the lock's margins are used up to the last tick.
  std::array<int, 2> drift_permille{0, 0};  ///< by how much each process's clock is too fast
  /// Which lock this user of a process wants.
  [[nodiscard]] std::size_t lock_of(std::size_t user) const { return two_locks ? user : 0; }
  [[nodiscard]] bool drifts() const { return drift_permille != std::array{0, 0}; }
  /// What this process's clock shows.
  [[nodiscard]] core::LocalInstant clock(unsigned who, unsigned tick) const {
    return terms::local(tick, drift_permille[who]);
  }
  [[nodiscard]] bool has(CoreFault fault) const {
    return (kinds >> static_cast<unsigned>(fault) & 1) != 0;
  }
};

[[nodiscard]] std::string describe(const CoreScope& scope);

/// A changed number of states is a changed behaviour of the core, wanted or not.
struct NamedCoreScope {
  std::string_view name;
  CoreScope scope;
  std::uint64_t states;  ///< of the production core, pinned
  std::uint64_t sights;  ///< bits of what must be seen in it, or its verdict would say little
};
/// The scopes that are explored to their end.
[[nodiscard]] const std::vector<NamedCoreScope>& core_scopes();
/// Null: there is none of that name.
[[nodiscard]] const NamedCoreScope* core_scope_named(std::string_view name);

}  // namespace leasehold::sim::explored
