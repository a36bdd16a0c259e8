#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/explored/core_terms.hpp"

/// The scopes in which the production core is explored.
namespace leasehold::sim::explored {

/// What hits the processes, each at most once in a behaviour. Without it a command executes and is
/// answered at once: delays are bounded (as in delay-bounded scheduling), not times.
enum class CoreFault : unsigned {
  lost_request,  ///< never executed, never answered
  late,          ///< executes some time, perhaps when no call waits for it any more
  lost_reply,    ///< executed, and the sender never hears of it
  slow_reply,    ///< executed, and answered some time before its command times out
  inside,        ///< as late, but with the $$NOW of its sending
  error_before,  ///< NotWritablePrimary, not executed
  error_after,   ///< executed, then a writeConcernError; in odd ticks an error of its own
  crash,
  pause,  ///< a process takes no step for any time
  clock,  ///< another member is primary, its clock a whole margin ahead
  cancel,       ///< the caller gives up while it waits
  rolled_back,  ///< executed by a primary that steps down before a majority has the write
  old_primary   ///< executed by one that was cut off before the last write, and does not know it
};
inline constexpr unsigned kCoreFaults = 13;
[[nodiscard]] const char* name_of(CoreFault fault);
/// Faults of each scope unless it says otherwise: they need no second branch of the data.
inline constexpr unsigned kOfOneBranch = (1u << 11) - 1;

/// INVARIANT: `ticks` fits six bits of a state.
struct CoreScope {
  unsigned ticks = 10;  ///< the behaviour ends then; a lease has 3
  unsigned faults = 2;  ///< of all kinds together
  // A clock that is ahead is so by one tick, so a scope with that fault has at least this margin.
  unsigned margin_ticks = 1;          ///< the clock margin
  std::array<int, 2> acquires{1, 1};  ///< calls of each user of a process, one after another
  unsigned kinds = kOfOneBranch;
  // More than one: a process has its own queue and hand-overs, and batches with two locks.
  std::array<unsigned, 2> users{1, 1};      ///< of each process, asking at the same time
  bool two_locks = false;                   ///< the second user of a process wants another lock
  bool queue = false;                       ///< waiting calls stand in the lock's queue
  // As far apart as `max_drift` allows, so that the lock's margins are used up to the last tick.
  std::array<int, 2> drift_permille{0, 0};  ///< by how much each process's clock is too fast
  /// Which lock this user of a process wants.
  [[nodiscard]] std::size_t lock_of(std::size_t user) const { return two_locks ? user : 0; }
  [[nodiscard]] bool drifts() const { return drift_permille != std::array{0, 0}; }
  /// What this process's clock shows.
  [[nodiscard]] core::LocalInstant clock(unsigned process, unsigned tick) const {
    return terms::local(tick, drift_permille[process]);
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
  std::uint64_t sights;  ///< bits of what must be seen, or its verdict says little
};
/// The scopes that are explored to their end.
[[nodiscard]] const std::vector<NamedCoreScope>& core_scopes();
/// Null: no scope has that name.
[[nodiscard]] const NamedCoreScope* core_scope_named(std::string_view name);

}  // namespace leasehold::sim::explored
